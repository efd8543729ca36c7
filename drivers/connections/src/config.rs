//! The generator's interfaces as objects: `create connection-generator interface cg0`.

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{InterfaceName, NewInterface};
use quiver_pg::names;

use crate::queue::{Sink, Source};
use crate::room::{ConnectionGenerators, Port};

/// MTU while none is configured: the longest segment fits.
const MTU: u16 = 9216;

/// Interface of the connection generator: what its connections send is received by it, and what it transmits reaches them.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "connection-generators", provides = "interface")]
pub struct ConnectionGenerator {
    /// Name of the interface, such as `cg0`.
    #[key]
    pub name: String,
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).memory(|_| quiver_interface::MEMORY));
    let create = Command::new(
        "create connection-generator interface <name:text>",
        "Create an interface whose packets come from TCP or UDP connections.",
        create,
    );
    control.commands().add(create.arguments_of::<ConnectionGenerator>());
    control.commands().add(Command::waiting(
        "delete connection-generator interface <interface>",
        "Delete a connection generator interface with its connections.",
        delete,
    ));
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let generator = ConnectionGenerator::new(matches.get("name")?);
    let name = generator.name.clone();
    control.put(generator)?;
    Ok(Reply::text(name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    control.delete_in_turns::<ConnectionGenerator>(&name.0).await?;
    Ok(Reply::done())
}

fn check(generator: &ConnectionGenerator) -> Result<(), ObjectError> {
    names::check(&generator.name, "cg0")
}

fn apply(control: &Control, change: Change<'_, ConnectionGenerator>) -> Result<(), ObjectError> {
    match change {
        Change::Create(generator) => open(control, generator),
        // Its name is all that there is.
        Change::Update { .. } => Ok(()),
        Change::Delete(generator) => {
            let port = control.room_mut::<ConnectionGenerators>().ports.remove(&generator.name);
            if let Some(port) = port {
                quiver_interface::remove(control, port.id);
                // Its queues may be in use for a turn yet.
                control.room::<Dataplane>().domain().retire(port.run);
            }
            Ok(())
        }
    }
}

fn open(control: &Control, generator: &ConnectionGenerator) -> Result<(), ObjectError> {
    let input = control.room::<ConnectionGenerators>().input;
    let workers = control.room::<Dataplane>().workers();
    if workers > 1 {
        let what = format!("connections belong to one worker, and there are {workers}");
        return Err(
            ObjectError::whole(what).remedy("start quiverd with --workers 1, and several of them for several cores")
        );
    }
    let sink = |_| -> Box<dyn TxQueue> { Box::new(Sink::default()) };
    let rx: Vec<Box<dyn RxQueue>> = vec![Box::new(Source::default())];
    let queues = Some(Queues { input, rx, tx: (0..workers).map(sink).collect() });
    let (name, mac) = (generator.name.clone(), names::address_of(*b"cg", &generator.name));
    let new = NewInterface { name, kind: "connection-generator", mac, mtu: MTU, parent: None, queues };
    let id = quiver_interface::create(control, new)?;
    let queue = {
        let dataplane = control.room::<Dataplane>();
        dataplane.queues_of(id.0).next().map(|queue| queue.id)
    };
    let queue = queue.ok_or_else(|| ObjectError::whole("the interface was given no receive queue"))?;
    control.room_mut::<ConnectionGenerators>().ports.insert(generator.name.clone(), Port { id, queue, run: None });
    Ok(())
}

//! Configuration of pipes.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::settings::AdminState;
use quiver_interface::{
    InterfaceEvent, InterfaceId, InterfaceName, InterfaceSettings, Interfaces, NewInterface, check_name, create,
    number_in, remove, set_point_to_point, watch,
};
use quiver_wire::MacAddress;

use crate::queue::{Cable, Sink, Source};

/// MTU while none is configured.
const MTU: u16 = 9000;
/// Pipes at most.
const INSTANCES: u32 = 16_384;

/// Pipe: two interfaces, each of which receives packets that the other one transmits. They are named after the pipe,
/// with `.0` and `.1`.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "pipes", provides = "interface", parts(".0", ".1"))]
pub struct Pipe {
    /// Name: pipe and a number, such as pipe0, or one that you choose, such as to-lab.
    #[key]
    pub name: String,
}

/// The state of the room.
pub(crate) struct Pipes {
    pub input: NodeId,
    /// Both directions of each pipe.
    pub cables: BTreeMap<InterfaceId, [Arc<Cable>; 2]>,
}

impl Pipe {
    /// The names of its ends.
    pub fn ends(&self) -> [String; 2] {
        [0, 1].map(|end| format!("{}.{end}", self.name))
    }
    /// The number in its name.
    pub fn instance(&self) -> Option<u32> {
        number_in(&self.name, "pipe").filter(|number| *number < INSTANCES)
    }
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).memory(|_| quiver_interface::MEMORY));
    let make = Command::new(
        "pipe create [instance <instance:u32> | if-name <if-name:text>]",
        "Create a pipe: two connected interfaces.",
        make,
    );
    let make = make.argument("instance", "number in the name; default: the first free one");
    control.commands().add(make.argument("if-name", "name that you choose, such as to-lab"));
    control.commands().add(Command::waiting("pipe delete <interface>", "Delete a pipe and its two ends.", delete));
    watch(control, |control, event| {
        if let InterfaceEvent::AdminState(id) = event
            && let Some(cables) = control.room::<Pipes>().cables.get(&id)
        {
            let is_up = control.room::<Interfaces>().get(id).is_some_and(|pipe| pipe.up);
            cables.iter().for_each(|cable| cable.open(is_up));
        }
    });
}

fn check(pipe: &Pipe) -> Result<(), ObjectError> {
    check_name(&pipe.name, "pipe0")
}

fn apply(control: &Control, change: Change<'_, Pipe>) -> Result<(), ObjectError> {
    match change {
        Change::Create(pipe) => open(control, pipe),
        // Its name is all that there is.
        Change::Update { .. } => Ok(()),
        Change::Delete(pipe) => {
            let whole = control.room::<Interfaces>().id_of(&pipe.name)?;
            close(control, whole, pipe);
            Ok(())
        }
    }
}

fn close(control: &Control, whole: InterfaceId, pipe: &Pipe) {
    for end in pipe.ends() {
        let id = control.room::<Interfaces>().id_of(&end);
        id.into_iter().for_each(|id| remove(control, id));
    }
    control.room_mut::<Pipes>().cables.remove(&whole);
    remove(control, whole);
}

fn open(control: &Control, pipe: &Pipe) -> Result<(), ObjectError> {
    let refused = |error| ObjectError::whole(format!("no eventfd: {error}")).remedy("raise the limit of open files");
    let cables = [Cable::new().map_err(refused)?, Cable::new().map_err(refused)?];
    let new = |name: String, kind, parent, queues| NewInterface {
        name,
        kind,
        // Ends are each other's only neighbours, so frames between them need no addresses.
        mac: MacAddress::ZERO,
        mtu: MTU,
        parent,
        queues,
    };
    let whole = create(control, new(pipe.name.clone(), "pipe", None, None))?;
    control.room_mut::<Pipes>().cables.insert(whole, cables.clone());
    for (at, name) in pipe.ends().into_iter().enumerate() {
        let (input, workers) = (control.room::<Pipes>().input, control.room::<Dataplane>().workers());
        let rx: Vec<Box<dyn RxQueue>> = vec![Box::new(Source::new(cables[at].clone()))];
        let sink = |_| -> Box<dyn TxQueue> { Box::new(Sink::new(cables[1 - at].clone())) };
        let queues = Queues { input, rx, tx: (0..workers).map(sink).collect() };
        match create(control, new(name, "pipe-end", Some(whole), Some(queues))) {
            Ok(end) => set_point_to_point(control, end),
            Err(error) => {
                close(control, whole, pipe);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Makes a pipe, and sets its ends up, so that it is up when the pipe itself is.
pub(crate) fn add(control: &Control, instance: Option<u32>) -> Result<Pipe, ObjectError> {
    let is_free = |number: &u32| control.objects().get::<Pipe>(&format!("pipe{number}")).is_none();
    let wrong = |what: String, remedy: String| Err(ObjectError::field("instance", what).remedy(remedy));
    let number = match instance {
        Some(number) if number >= INSTANCES => {
            return wrong(format!("{number} is too large"), format!("give 0 to {}", INSTANCES - 1));
        }
        Some(number) if !is_free(&number) => {
            return wrong(format!("there is pipe{number} already"), "choose another".into());
        }
        Some(number) => number,
        None => match (0..INSTANCES).find(is_free) {
            Some(number) => number,
            None => return wrong(format!("there are {INSTANCES} pipes already"), "delete one first".into()),
        },
    };
    add_named(control, format!("pipe{number}"))
}

fn add_named(control: &Control, name: String) -> Result<Pipe, ObjectError> {
    let pipe = Pipe::new(name);
    control.put(pipe.clone())?;
    for end in pipe.ends() {
        control.edit(InterfaceSettings::new(InterfaceName(end)), |settings| settings.state = AdminState::Up)?;
    }
    Ok(pipe)
}

fn make(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let pipe = match matches.find::<String>("if-name")? {
        Some(name) => add_named(control, name)?,
        None => add(control, matches.find("instance")?)?,
    };
    Ok(Reply::text(pipe.name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    if control.objects().get::<Pipe>(&name).is_none() {
        return Err(CommandError::new(format!("{name} is no pipe")).at(matches.place("interface")));
    }
    control.delete_in_turns::<Pipe>(&name).await?;
    Ok(Reply::done())
}

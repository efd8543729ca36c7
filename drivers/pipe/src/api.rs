//! VPP's messages about pipes: `pipe.api`.

use quiver_compat::types::{IfType, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::{Control, ObjectError};
use quiver_interface::Interfaces;
use quiver_interface::api::{details, find};

use crate::config::{Pipe, add};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "pipe", (1, 0, 1), |file| {
        file.request(pipe_create);
        file.waiting(pipe_delete);
        file.dump(pipe_dump);
    });
    details::add(control, |_, interface, details| {
        if interface.kind == "pipe-end" {
            details.r#type = IfType::Pipe;
        }
    });
}

/// Creates a pipe: two interfaces, each of which receives packets that the other one transmits.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PipeCreateReply)]
struct PipeCreate {
    is_specified: bool,
    user_instance: u32,
}

/// Index of the pipe and of its two ends; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct PipeCreateReply {
    sw_if_index: InterfaceIndex,
    pipe_sw_if_index: [InterfaceIndex; 2],
}

impl Default for PipeCreateReply {
    fn default() -> PipeCreateReply {
        PipeCreateReply { sw_if_index: InterfaceIndex(NONE), pipe_sw_if_index: [InterfaceIndex(NONE); 2] }
    }
}

/// Deletes a pipe, its two ends and all configuration that refers to them.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PipeDelete {
    sw_if_index: InterfaceIndex,
}

/// Dumps all pipes with their ends.
#[derive(Message, Clone, Debug)]
#[message(dump, details = PipeDetails)]
struct PipeDump;

/// Describes one pipe: its instance, its index and the indices of its two ends.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct PipeDetails {
    sw_if_index: InterfaceIndex,
    pipe_sw_if_index: [InterfaceIndex; 2],
    instance: u32,
}

/// The numbers of a pipe and of its ends.
fn numbers(control: &Control, pipe: &Pipe) -> Result<(InterfaceIndex, [InterfaceIndex; 2]), ObjectError> {
    let interfaces = control.room::<Interfaces>();
    let [west, east] = pipe.ends().map(|end| interfaces.id_of(&end).map(InterfaceIndex::from));
    Ok((interfaces.id_of(&pipe.name)?.into(), [west?, east?]))
}

fn pipe_create(control: &Control, request: PipeCreate) -> Result<PipeCreateReply, Refusal> {
    let instance = request.is_specified.then_some(request.user_instance);
    if let Some(taken) = instance.filter(|number| control.objects().get::<Pipe>(&format!("pipe{number}")).is_some()) {
        return Err(Refusal::new(Retval::INSTANCE_IN_USE, format!("user_instance: there is pipe{taken} already")));
    }
    let pipe = add(control, instance)?;
    let (sw_if_index, pipe_sw_if_index) = numbers(control, &pipe)?;
    Ok(PipeCreateReply { sw_if_index, pipe_sw_if_index })
}

async fn pipe_delete(control: Control, request: PipeDelete) -> Result<(), Refusal> {
    let name = find(&control, request.sw_if_index)?.name;
    match control.objects().get::<Pipe>(&name) {
        Some(_) => Ok(control.delete_in_turns::<Pipe>(&name).await?),
        None => Err(Refusal::new(Retval::INVALID_SW_IF_INDEX, format!("sw_if_index: {name} is no pipe"))),
    }
}

fn pipe_dump(control: &Control, _: PipeDump) -> impl Iterator<Item = Option<PipeDetails>> + use<> {
    let control = control.clone();
    control.clone().walk::<Pipe>().map(move |pipe| {
        let (sw_if_index, pipe_sw_if_index) = numbers(&control, &pipe).ok()?;
        Some(PipeDetails { sw_if_index, pipe_sw_if_index, instance: pipe.instance().unwrap_or(NONE) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_compat::Caller;
    use quiver_testkit::daemon::{Daemon, Rooms, Setup};

    fn house() -> (Daemon, Caller) {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            quiver_testkit::crossing::register(control).map_err(|error| error.to_string())?;
            crate::register(control).map_err(|error| error.to_string())
        };
        let rooms = Rooms::without_wires(register, quiver_interface::Events::answer);
        let daemon = Daemon::new(rooms, Setup::default()).expect("a daemon");
        let caller = Caller::connect(daemon.control());
        (daemon, caller)
    }

    #[test]
    fn pipes_come_and_go_with_their_ends() {
        let (daemon, mut caller) = house();
        let name = |index: InterfaceIndex| find(daemon.control(), index).map(|found| found.name).unwrap_or_default();
        let tenth = caller.request(&PipeCreate { is_specified: true, user_instance: 10 }).expect("there is room");
        let first = caller.request(&PipeCreate { is_specified: false, user_instance: NONE }).expect("there is room");
        assert_eq!(name(tenth.sw_if_index), "pipe10");
        assert_eq!(first.pipe_sw_if_index.map(name), ["pipe0.0", "pipe0.1"]);
        let again = PipeCreate { is_specified: true, user_instance: 10 };
        assert_eq!(caller.request(&again).err(), Some(Retval::INSTANCE_IN_USE));
        assert!(caller.request(&PipeCreate { is_specified: true, user_instance: 16_384 }).is_err());
        let dumped = |caller: &mut Caller| {
            let pipes = caller.dump(&PipeDump).into_iter();
            pipes.map(|pipe| (pipe.instance, pipe.sw_if_index, pipe.pipe_sw_if_index)).collect::<Vec<_>>()
        };
        let of = |number, pipe: &PipeCreateReply| (number, pipe.sw_if_index, pipe.pipe_sw_if_index);
        assert_eq!(dumped(&mut caller), [of(0, &first), of(10, &tenth)]);
        let end = PipeDelete { sw_if_index: first.pipe_sw_if_index[0] };
        assert_eq!(caller.request(&end).err(), Some(Retval::INVALID_SW_IF_INDEX), "an end alone does not go");
        caller.request(&PipeDelete { sw_if_index: first.sw_if_index }).expect("it is there");
        assert_eq!(dumped(&mut caller), [of(10, &tenth)]);
        let interfaces = daemon.control().room::<Interfaces>();
        assert!(interfaces.find("pipe0").is_none() && interfaces.find("pipe0.1").is_none());
    }
}

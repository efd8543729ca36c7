//! Messages about queues.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE, RxMode};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_engine::Dataplane;

use super::{ALL, dump, find, name, too_much};
use crate::queues::{Mode, RxQueueSettings, main_worker, set_mode};

/// Sets the receive mode of one queue, or of all queues of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetRxMode {
    pub sw_if_index: InterfaceIndex,
    pub queue_id_valid: bool,
    pub queue_id: u32,
    pub mode: RxMode,
}

/// Assigns a receive queue to a worker.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetRxPlacement {
    pub sw_if_index: InterfaceIndex,
    pub queue_id: u32,
    pub worker_id: u32,
    pub is_main: bool,
}

/// Dumps the receive queues of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SwInterfaceRxPlacementDetails)]
pub(super) struct SwInterfaceRxPlacementDump {
    pub sw_if_index: InterfaceIndex,
}

/// Describes one receive queue: its thread (0 is the main thread, 1 the first worker) and its mode.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(addressed)]
pub(super) struct SwInterfaceRxPlacementDetails {
    pub sw_if_index: InterfaceIndex,
    pub queue_id: u32,
    pub worker_id: u32,
    pub mode: RxMode,
}

/// Asks for the transmit queues of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SwInterfaceTxPlacementDetails, reply = SwInterfaceTxPlacementGetReply)]
pub(super) struct SwInterfaceTxPlacementGet {
    pub cursor: u32,
    pub sw_if_index: InterfaceIndex,
}

/// Ends the list of transmit queues; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SwInterfaceTxPlacementGetReply {
    pub cursor: u32,
}

/// Describes one transmit queue and its thread. Each worker has a transmit queue of its own.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(addressed)]
pub(super) struct SwInterfaceTxPlacementDetails {
    pub sw_if_index: InterfaceIndex,
    pub queue_id: u32,
    pub shared: u8,
    #[count(u32, "array_size")]
    pub threads: Vec<u32>,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, request: SwInterfaceSetRxMode| {
        let interface = name(control, request.sw_if_index)?;
        let queue = request.queue_id_valid.then(|| number("queue_id", request.queue_id)).transpose()?;
        let mode = match request.mode {
            RxMode::Polling => Mode::Polling,
            RxMode::Interrupt => Mode::Interrupt,
            RxMode::Adaptive | RxMode::Default => Mode::Adaptive,
            RxMode::Unknown => return Err(Refusal::new(Retval::INVALID_VALUE, "mode: 0 is none")),
        };
        Ok(set_mode(control, &interface, queue, mode)?)
    });
    file.request(|control, request: SwInterfaceSetRxPlacement| {
        let queue = RxQueueSettings::new(name(control, request.sw_if_index)?, number("queue_id", request.queue_id)?);
        let worker = match request.is_main {
            true => main_worker(control).map_err(|what| Refusal::new(Retval::INVALID_VALUE, what))?,
            false => number("worker_id", request.worker_id)?,
        };
        Ok(control.edit(queue, |settings| settings.worker = Some(worker))?)
    });
    file.dump(|control, request: SwInterfaceRxPlacementDump| placements(control, request.sw_if_index));
    file.stream(|control, request: SwInterfaceTxPlacementGet| {
        let details = transmit_queues(control, request.sw_if_index)?;
        Ok((details, SwInterfaceTxPlacementGetReply { cursor: NONE }))
    });
}

fn number(field: &str, value: u32) -> Result<u16, Refusal> {
    u16::try_from(value).map_err(|_| too_much(field, value))
}

/// The number of a worker's thread, as `show threads` has it: the first one is the main one.
fn thread(worker: usize) -> u32 {
    worker as u32 + 1
}

fn placements(
    control: &Control,
    of: InterfaceIndex,
) -> impl Iterator<Item = Option<SwInterfaceRxPlacementDetails>> + use<> {
    dump(control, of, |control, id, _| {
        let dataplane = control.room::<Dataplane>();
        let details = dataplane.queues_of(id.0).map(|queue| SwInterfaceRxPlacementDetails {
            sw_if_index: id.into(),
            queue_id: queue.index as u32,
            worker_id: thread(queue.worker),
            mode: match Mode::from(queue.mode) {
                Mode::Polling => RxMode::Polling,
                Mode::Interrupt => RxMode::Interrupt,
                Mode::Adaptive => RxMode::Adaptive,
            },
        });
        details.collect::<Vec<_>>()
    })
}

fn transmit_queues(
    control: &Control,
    of: InterfaceIndex,
) -> Result<impl Iterator<Item = Option<SwInterfaceTxPlacementDetails>> + use<>, Refusal> {
    if of != ALL {
        find(control, of)?;
    }
    Ok(dump(control, of, |control, id, _| {
        let dataplane = control.room::<Dataplane>();
        let workers = if dataplane.has_port(id.0) { dataplane.workers() } else { 0 };
        (0..workers).map(move |worker| SwInterfaceTxPlacementDetails {
            sw_if_index: id.into(),
            queue_id: worker as u32,
            shared: 0,
            threads: vec![thread(worker)],
        })
    }))
}

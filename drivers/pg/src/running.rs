//! The streams that run: their places on the scoreboard, and the generators on the workers.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_control::{Change, Control, ObjectError};
use quiver_engine::Dataplane;

use crate::generator::Generator;
use crate::interface::PacketGenerators;
use crate::queue::Source;
use crate::sequence::{STREAMS_MAX, Score, Scoreboard};
use crate::stream::{PgStream, recorded};

/// What control keeps of streams.
#[derive(Default)]
pub(crate) struct Running {
    board: Arc<Scoreboard>,
    slots: BTreeMap<String, u16>,
    /// Runs begun so far; their numbers tell late packets of an earlier run.
    runs: u16,
}

impl Running {
    pub fn board(&self) -> &Arc<Scoreboard> {
        &self.board
    }
    /// The score of a stream.
    pub fn score(&self, stream: &str) -> Option<&Score> {
        self.board.scores.get(usize::from(*self.slots.get(stream)?))
    }
    fn take_slot(&mut self, stream: &str) -> Result<u16, ObjectError> {
        let taken: Vec<u16> = self.slots.values().copied().collect();
        let free = (0..STREAMS_MAX as u16).find(|slot| !taken.contains(slot)).ok_or_else(|| {
            ObjectError::whole(format!("there are {STREAMS_MAX} streams already"))
                .remedy("delete one with `packet-generator delete`")
        })?;
        self.slots.insert(stream.to_owned(), free);
        self.begin(free);
        Ok(free)
    }
    /// Starts a run in a slot: counts of zero, and a number by which its packets are told from those before.
    fn begin(&mut self, slot: u16) -> u16 {
        self.runs = self.runs.wrapping_add(1).max(1);
        if let Some(score) = self.board.scores.get(usize::from(slot)) {
            score.begin(self.runs);
        }
        self.runs
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, PgStream>) -> Result<(), ObjectError> {
    match change {
        Change::Create(new) => {
            start(control, new, true)?;
        }
        Change::Update { old, new } => {
            // The new one is made first: if that fails, the old one goes on.
            if let Some(starting) = prepare(control, new)? {
                stop(control, old);
                starting(control);
            } else {
                stop(control, old);
            }
        }
        Change::Delete(old) => {
            stop(control, old);
            control.room_mut::<PacketGenerators>().streams.slots.remove(&old.name);
        }
    }
    Ok(())
}

fn start(control: &Control, stream: &PgStream, fresh: bool) -> Result<(), ObjectError> {
    if fresh {
        control.room_mut::<PacketGenerators>().streams.take_slot(&stream.name)?;
    }
    match prepare(control, stream) {
        Ok(Some(starting)) => starting(control),
        Ok(None) => {}
        Err(error) => {
            control.room_mut::<PacketGenerators>().streams.slots.remove(&stream.name);
            return Err(error);
        }
    }
    Ok(())
}

type Starting = Box<dyn FnOnce(&Control)>;

/// Makes the generator of a stream, and what starts it; nothing if the stream is not enabled.
fn prepare(control: &Control, stream: &PgStream) -> Result<Option<Starting>, ObjectError> {
    let packets = stream.pcap.as_deref().map(recorded).transpose()?;
    let room = control.room::<PacketGenerators>();
    let Some(port) = room.ports.get(&stream.interface.0) else {
        let what = format!("{} is no interface of the packet generator", stream.interface);
        return Err(ObjectError::field("interface", what).remedy("name one of `create packet-generator interface`"));
    };
    let Some(slot) = room.streams.slots.get(&stream.name).copied().filter(|_| stream.enabled) else { return Ok(None) };
    let (queue, stream) = (port.queue, stream.clone());
    Ok(Some(Box::new(move |control| {
        let generator = {
            let streams = &mut control.room_mut::<PacketGenerators>().streams;
            let run = streams.begin(slot);
            Generator::new(&stream, packets, slot, run, streams.board.clone())
        };
        control.room::<Dataplane>().post_to_queue(queue, move |worker| {
            if let Some(source) = worker.queue_mut::<Source>(queue) {
                source.start(generator);
            }
        });
    })))
}

fn stop(control: &Control, stream: &PgStream) {
    let room = control.room::<PacketGenerators>();
    let slot = room.streams.slots.get(&stream.name).copied();
    let (Some(port), Some(slot)) = (room.ports.get(&stream.interface.0), slot) else { return };
    let (queue, dataplane) = (port.queue, control.room::<Dataplane>());
    let domain = dataplane.domain().clone();
    dataplane.post_to_queue(queue, move |worker| {
        if let Some(generator) = worker.queue_mut::<Source>(queue).and_then(|source| source.stop(slot)) {
            domain.retire(generator);
        }
    });
}

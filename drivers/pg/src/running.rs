//! The streams that there are: their places on the scoreboard, and whether they run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::ObjectError;

use crate::sequence::{STREAMS_MAX, Score, Scoreboard};
use crate::stream::PgStream;

/// Control's state of all streams.
#[derive(Default)]
pub(crate) struct Running {
    board: Arc<Scoreboard>,
    pub streams: BTreeMap<String, Stream>,
    /// Runs begun so far; their numbers tell late packets of an earlier run.
    runs: u16,
}

/// Control's state of a stream.
pub(crate) struct Stream {
    pub slot: u16,
    /// Its interface, if its packets are sent rather than received.
    pub sent_from: Option<String>,
    pub run: Run,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// Not on any worker.
    Stopped,
    /// Its packets are made, or on their way: run and limit.
    On(u16, u64),
    /// The last one of its packets has left the graph.
    Over,
}

impl Running {
    pub fn board(&self) -> &Arc<Scoreboard> {
        &self.board
    }
    /// The score of a stream.
    pub fn score(&self, stream: &str) -> Option<&Score> {
        self.score_of(self.streams.get(stream)?.slot)
    }
    pub fn score_of(&self, slot: u16) -> Option<&Score> {
        self.board.scores.get(usize::from(slot))
    }
    /// Whether packets of a stream are still to come, or on their way.
    pub fn is_on(&self, stream: &str) -> bool {
        self.streams.get(stream).is_some_and(|stream| matches!(stream.run, Run::On(..)))
    }
    pub fn add(&mut self, stream: &PgStream) -> Result<(), ObjectError> {
        let taken: Vec<u16> = self.streams.values().map(|stream| stream.slot).collect();
        let slot = (0..STREAMS_MAX as u16).find(|slot| !taken.contains(slot)).ok_or_else(|| {
            ObjectError::whole(format!("there are {STREAMS_MAX} streams already"))
                .remedy("delete one with `packet-generator delete`")
        })?;
        let added = Stream { slot, sent_from: sent_from(stream), run: Run::Stopped };
        self.streams.insert(stream.name.clone(), added);
        self.begin(slot);
        Ok(())
    }
    /// Starts a run in a slot: counts of zero, and a number by which its packets are told from those before.
    pub fn begin(&mut self, slot: u16) -> u16 {
        self.runs = self.runs.wrapping_add(1).max(1);
        if let Some(score) = self.score_of(slot) {
            score.begin(self.runs);
        }
        self.runs
    }
    /// The runs of which every packet was made.
    pub fn made(&self) -> Vec<(String, Run)> {
        let is_made = |stream: &Stream| match stream.run {
            Run::On(_, limit) if limit > 0 => {
                self.score_of(stream.slot).is_some_and(|score| score.sent.load(Relaxed) >= limit)
            }
            _ => false,
        };
        let made = self.streams.iter().filter(|(_, stream)| is_made(stream));
        made.map(|(name, stream)| (name.clone(), stream.run)).collect()
    }
}

/// The interface that sends a stream's packets, if they are sent rather than received.
pub(crate) fn sent_from(stream: &PgStream) -> Option<String> {
    stream.output.is_some().then(|| stream.interface.0.clone())
}

//! `show session top`: the sessions with most bytes, packets, or bits in a second.
//!
//! The walk through all sessions takes as many turns of the control thread as it needs, and keeps only so many sessions as are shown.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};

use crate::listing::{self, Listed};
use crate::shown::{FILTERS, Filter, ends, id, protocol, state, with_filters};

/// Sessions that are shown if no number is given.
const USUAL: u32 = 10;
/// Sessions that are shown at most.
const MOST: u32 = 1000;

pub(crate) fn register(control: &Control) {
    let line = format!("show session top [<count:u32>] {{by (bytes | packets | rate) | {FILTERS}}}");
    let show = Command::waiting(&line, "Show the sessions with most traffic, or most of some sessions.", show);
    let show = show.argument("count", "sessions to show: 1 to 1000 (default 10)");
    let show = show.argument("bytes", "bytes of both directions (default)").argument("packets", "packets of both");
    let show = show.argument("rate", "bits in a second, on average since the session began");
    control.commands().add(with_filters(show));
}

/// By which sessions are ranked.
#[derive(Clone, Copy)]
enum By {
    Bytes,
    Packets,
    Rate,
}

impl By {
    fn of(given: &Matches) -> By {
        match (given.has("packets"), given.has("rate")) {
            (true, _) => By::Packets,
            (_, true) => By::Rate,
            _ => By::Bytes,
        }
    }
    fn value(self, listed: &Listed) -> u64 {
        match self {
            By::Bytes => bytes(listed),
            By::Packets => packets(listed),
            By::Rate => rate(listed),
        }
    }
}

fn packets(listed: &Listed) -> u64 {
    listed.traffic.iter().map(|(packets, _)| packets).sum()
}

fn bytes(listed: &Listed) -> u64 {
    listed.traffic.iter().map(|(_, bytes)| bytes).sum()
}

/// Bits in a second since the session began; of one that began in this moment as if that were a second ago.
fn rate(listed: &Listed) -> u64 {
    (bytes(listed) as f64 * 8.0 / listed.age.max(1.0)) as u64
}

/// A session and its rank. Of those with one value the first in the order of lists is before the others.
struct Ranked {
    value: u64,
    listed: Listed,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let first = other.listed.number().cmp(&self.listed.number());
        self.value.cmp(&other.value).then(first)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// The highest ones of those that were added.
struct Highest {
    most: usize,
    /// The lowest one of them is the first to leave.
    kept: BinaryHeap<Reverse<Ranked>>,
}

impl Highest {
    fn new(most: usize) -> Highest {
        Highest { most, kept: BinaryHeap::new() }
    }
    fn add(&mut self, ranked: Ranked) {
        if self.kept.len() < self.most {
            self.kept.push(Reverse(ranked));
        } else if let Some(mut lowest) = self.kept.peek_mut()
            && lowest.0 < ranked
        {
            *lowest = Reverse(ranked);
        }
    }
    /// All of them, the highest one first.
    fn in_order(self) -> impl Iterator<Item = Ranked> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(ranked)| ranked)
    }
}

async fn show(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let count: u32 = given.find("count")?.unwrap_or(USUAL);
    if !(1..=MOST).contains(&count) {
        let what = format!("{count} sessions cannot be shown; write 1 to {MOST}");
        return Err(CommandError::new(what).at(given.place("count")));
    }
    let (filter, by) = (Filter::of(&given)?, By::of(&given));
    let titles =
        ["Id", "Tenant", "Protocol", "Initiator", "Responder", "State", "Age", "Packets", "Bytes", "Bits per second"];
    let mut rows = Rows::new(&control, &output, titles);
    let mut highest = Highest::new(count as usize);
    for listed in listing::all(&control) {
        rows.step().await;
        if let Some(listed) = listed.filter(|listed| filter.has(listed)) {
            highest.add(Ranked { value: by.value(&listed), listed });
        }
    }
    let row = |Ranked { listed, .. }: Ranked| {
        let [initiator, responder] = ends(&control, &listed);
        Some([
            Cell::from(id(&listed)),
            Cell::from(listed.tenant.id),
            Cell::from(protocol(&listed)),
            Cell::from(initiator),
            Cell::from(responder),
            Cell::from(state(&listed)),
            Cell::from(listed.age),
            Cell::from(packets(&listed)),
            Cell::from(bytes(&listed)),
            Cell::from(rate(&listed)),
        ])
    };
    rows.each(highest.in_order(), row).await;
    Ok(rows.end())
}

//! Policy first: a packet without a session passes those services of its tenant's chain that judge; behind them its session is stored.
//!
//! Until then nothing is: the packet carries a mark that is no session's. It has the slot of the tenant and the revision of its judges, so
//! that a session begins only by the judges that the tenant has at that moment. `sfdp-create` is behind the last judge.

use std::sync::OnceLock;

use quiver_engine::{Frame, MetadataKey, Pool};
use quiver_ip::upper::Upper;
use quiver_session_events::Reason;

use crate::key::{FORMATS_MAX, Flow, Format, NoFlow};
use crate::record::Direction;
use crate::sessions::Mark;
use crate::tenant::REVISION;

/// Finds the flow of a row of a frame, whose ends are keys of one format.
pub(crate) type Parse = fn(&Frame, &Pool, usize, MetadataKey<Upper>) -> Result<Flow, NoFlow>;

/// Parsers by the numbers of their formats. Control adds them before packets come.
#[derive(Default)]
pub(crate) struct Parsers([OnceLock<Parse>; FORMATS_MAX + 1]);

impl Parsers {
    /// Sets the parser of a format, once.
    pub fn set(&self, format: Format, parse: Parse) {
        if let Some(parser) = self.0.get(usize::from(format.number())) {
            parser.get_or_init(|| parse);
        }
    }
    /// The parser of a format.
    pub fn get(&self, format: Format) -> Option<Parse> {
        self.0.get(usize::from(format.number()))?.get().copied()
    }
}

/// Bit of the generation in a mark that is no session's: generations of records have fewer bits.
const JUDGED: u32 = !REVISION;

/// A packet without a session that services judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Slot of its tenant.
    pub slot: u16,
    /// Format of its key.
    pub format: Format,
    /// Revision of the tenant's judges when the first one had its turn.
    pub revision: u32,
    /// Whether it is a segment with a cookie, as the SYN that the cookie answered.
    pub has_cookie: bool,
}

impl Judged {
    /// The mark of the packet, whose next judge has this position.
    pub fn mark(self, position: u8) -> Mark {
        let index = u32::from(self.slot) | u32::from(self.format.number()) << 16;
        // No error is judged, so the flag of errors is free.
        Mark::new(index, JUDGED | self.revision, Direction::Forward).at(position).first(true).error(self.has_cookie)
    }
    /// The packet of a mark; None if that is a session's.
    pub fn of(mark: Mark) -> Option<Judged> {
        let format = Format::of((mark.index() >> 16) as u8).filter(|_| mark.generation() & JUDGED != 0)?;
        let (slot, revision, has_cookie) = (mark.index() as u16, mark.generation() & REVISION, mark.is_error());
        Some(Judged { slot, format, revision, has_cookie })
    }
}

/// Judgment about a packet: None if it passes, otherwise the arc by which it leaves, and why.
pub type Judgment = Option<(u16, Reason)>;

/// Which packets a service judges, besides those of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judges {
    /// Those without a session, of tenants whose policy comes first.
    WithoutSession,
    /// In a rehearsal also those whose session would begin first: the service drops such packets where they have a session.
    First,
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_engine::Metadata;

    #[test]
    fn marks_of_judged_packets_are_kept_and_are_no_sessions() {
        for format in [Format::IP4, Format::of(15).expect("it is one")] {
            for (slot, revision) in [(0, 0), (u16::MAX, REVISION), (7, 1 << 24)] {
                let judged = Judged { slot, format, revision, has_cookie: slot == 7 };
                let mark = Mark::of_word(judged.mark(9).to_word());
                assert_eq!((Judged::of(mark), mark.position()), (Some(judged), 9));
                assert!(mark.generation() > crate::record::GENERATION, "no record has it");
            }
        }
        let judged = Judged { slot: 1, format: Format::IP4, revision: 0, has_cookie: false };
        let session = Mark::new(judged.mark(0).index(), crate::record::GENERATION, Direction::Forward);
        assert_eq!(Judged::of(session), None);
    }
}

//! The slow path of interfaces whose lists begin sessions: a packet of a session passes, others meet the lists. A rule `permit+reflect`
//! begins a session once it has decided.

use quiver_engine::channel::Outbox;
use quiver_engine::{BLOCK, Context, Frame, Rows, Seed};
use quiver_session::admission::{Observed, PlainSearch, Search};
use quiver_session::node::pass::{Reads, Work};

use crate::flow::{Flow, context};
use crate::look::{ListsOf, Next, Plain, Unreadable};
use crate::reflect::Reflecting;
use crate::rule::{Action, Fields};

/// Sessions, as a node has them.
#[derive(Clone)]
pub struct Sessions {
    reads: Reads,
    /// Hears of the worker's first session.
    begun: Outbox<()>,
    of: Reflecting,
    /// Packets of a frame.
    sought: Vec<Sought>,
    /// Plain ones by their rows, with the flags of TCP.
    plain: Box<[(PlainSearch, u8); BLOCK]>,
}

/// A packet whose session is sought.
#[derive(Clone)]
struct Sought {
    row: usize,
    interface: u32,
    fields: Fields,
    /// None of a packet that has no session, and whether one may begin with it.
    search: Option<(Search, bool)>,
}

impl Sought {
    fn observed(&self, frame: &Frame) -> Observed {
        let tcp_flags = self.fields.upper.map_or(0, |upper| upper.tcp_flags);
        Observed { tcp_flags, length: frame.length[self.row] }
    }
}

impl Sessions {
    /// Sessions of lists; `begun` hears of a worker's first one.
    pub fn new(reads: Reads, begun: Outbox<()>, of: Reflecting) -> Sessions {
        Sessions { reads, begun, of, sought: vec![], plain: Box::new([(PlainSearch::NONE, 0); BLOCK]) }
    }
    /// Those of a worker.
    pub fn of(&self, seed: Seed) -> Sessions {
        Sessions { begun: self.begun.of(seed), ..self.clone() }
    }
    /// Lets plain packets of this worker's sessions pass; returns the other rows. `look` says interface, direction and fields of a row,
    /// if its packet is plain.
    pub(crate) fn pass_known(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        rows: Rows,
        look: impl Fn(&Context<'_>, &Frame, usize) -> Option<(u32, bool, Plain)>,
    ) -> Rows {
        let Some(work) = self.reads.begin(cx, Next::ARCS.len()) else { return rows };
        let (mut plain, mut others) = (Rows::default(), Rows::default());
        for i in rows {
            let Some((interface, is_sent, fields)) = look(cx, frame, i) else {
                others.insert(i);
                continue;
            };
            let ends = fields.ends.in_order();
            let kind = (fields.protocol, self.of.formats.ip4);
            self.plain[i] = (work.search_plain(ends, context(interface, ends.1, is_sent), kind), fields.tcp_flags);
            plain.insert(i);
        }
        for i in plain {
            work.approach_plain(&mut self.plain[i].0);
        }
        let now = work.ticks(cx);
        for i in plain {
            let (search, tcp_flags) = &self.plain[i];
            let observed = Observed { tcp_flags: *tcp_flags, length: frame.length[i] };
            if work.admits_plain((cx, now), search, observed) {
                frame.next[i] = Next::Pass.into();
            } else {
                others.insert(i);
            }
        }
        others
    }
    /// Begins to search for the sessions of rows. `look` says interface, direction and fields of a row. Rows without fields leave.
    pub(crate) fn seek(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        rows: Rows,
        look: impl Fn(&Context<'_>, &Frame, usize) -> (u32, bool, Result<Option<Fields>, Unreadable>),
    ) {
        let work = self.reads.begin(cx, Next::ARCS.len());
        self.sought.clear();
        for row in rows {
            let (interface, is_sent, fields) = look(cx, frame, row);
            let fields = match fields {
                Ok(Some(fields)) => fields,
                Ok(None) => {
                    frame.next[row] = Next::Pass.into();
                    continue;
                }
                Err(Unreadable) => {
                    frame.next[row] = Next::Denied.into();
                    continue;
                }
            };
            let flow = Flow::of(&fields, interface, is_sent, self.of.formats);
            let search = work.as_ref().zip(flow).map(|(work, flow)| (work.sessions.search(flow.key), flow.begins));
            self.sought.push(Sought { row, interface, fields, search });
        }
    }
    /// Decides about the rows that are sought, by the lists of their interface.
    pub(crate) fn treat<'l>(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        lists: impl Fn(u32) -> ListsOf<'l>,
        are_counted: bool,
    ) {
        let work = self.reads.begin(cx, Next::ARCS.len());
        if let Some(work) = &work {
            // PERF: the misses of a whole frame are under way together.
            for (search, _) in self.sought.iter_mut().filter_map(|sought| sought.search.as_mut()) {
                work.sessions.approach(search);
            }
        }
        for sought in &self.sought {
            frame.next[sought.row] = self.next(cx, frame, work.as_ref(), sought, (&lists, are_counted)).into();
        }
    }
    fn next<'l>(
        &self,
        cx: &Context<'_>,
        frame: &Frame,
        work: Option<&Work<'_>>,
        sought: &Sought,
        (lists, are_counted): (&impl Fn(u32) -> ListsOf<'l>, bool),
    ) -> Next {
        let observed = sought.observed(frame);
        let search = work.zip(sought.search.as_ref());
        if search.is_some_and(|(work, (search, _))| work.admits(cx, search, observed)) {
            return Next::Pass;
        }
        let lists = lists(sought.interface);
        if lists.is_empty() {
            return Next::Pass;
        }
        let count = |rule| {
            if are_counted && !cx.is_rehearsal() {
                lists.count(cx.worker, rule, observed.length);
            }
        };
        match (lists.decide(&sought.fields, count), search) {
            (Action::Deny, _) => Next::Denied,
            (Action::PermitReflect, Some((work, (search, true)))) if !cx.is_rehearsal() => {
                match work.begin_admission((cx, &self.begun), search, self.of.slot, observed) {
                    true => Next::Pass,
                    false => Next::Full,
                }
            }
            _ => Next::Pass,
        }
    }
}

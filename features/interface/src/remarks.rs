//! Remarks: counts of odd packets that were not dropped, under the names by which VPP's clients look for them. They stand beside the reasons of drops, and in the statistics segment below `/err`.

use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::stats::Symlink;
use quiver_engine::{Counter, Counters, Dataplane, Row};

/// Counts that clients see at most.
const SHOWN_MAX: u32 = 1024;

/// A count.
pub struct Remark {
    /// Source of the remark, such as `pg3-tx`.
    pub by: String,
    /// On what.
    pub what: &'static str,
    at: u32,
    symlink: Option<Symlink>,
}

/// All of them.
pub struct Remarks {
    counters: Counters<Counter>,
    list: Vec<Remark>,
}

impl Remarks {
    pub(crate) fn new(dataplane: &Dataplane) -> Remarks {
        let counters = Counters::shown(dataplane.statistics(), "/interface/remarks", SHOWN_MAX);
        Remarks { counters, list: vec![] }
    }
    /// Each with how many packets it counts.
    pub fn iter(&self) -> impl Iterator<Item = (&Remark, u64)> {
        self.list.iter().map(|remark| (remark, self.counters.sum(remark.at)))
    }
}

/// Where one worker counts.
#[derive(Clone)]
pub struct Remarked {
    row: Arc<Row<Counter>>,
    at: u32,
}

impl Remarked {
    /// Counts packets.
    pub fn add(&self, packets: u64) {
        self.row.add(self.at, packets);
    }
}

/// A new count. What comes back says where a worker counts.
pub fn remark(control: &Control, by: &str, what: &'static str) -> impl Fn(usize) -> Remarked + use<> {
    let dataplane = control.room::<Dataplane>();
    let mut remarks = control.room_mut::<Remarks>();
    let taken = |at: &u32| remarks.list.iter().any(|remark| remark.at == *at);
    let at = (0..).find(|at| !taken(at)).unwrap_or_default();
    remarks.counters.grow(at + 1);
    remarks.counters.clear(at);
    let target = remarks.counters.target();
    let name = format!("/err/{by}/{what}");
    let symlink = target.map(|target| dataplane.statistics().edit().symlink(&name, target, at));
    remarks.list.push(Remark { by: by.to_owned(), what, at, symlink });
    let counters = remarks.counters.clone();
    move |worker| Remarked { row: counters.row(worker), at }
}

/// Deletes the remarks of a source.
pub fn forget_remarks(control: &Control, by: &str) {
    let dataplane = control.room::<Dataplane>();
    let mut remarks = control.room_mut::<Remarks>();
    for gone in remarks.list.extract_if(.., |remark| remark.by == by) {
        gone.symlink.into_iter().for_each(|symlink| dataplane.statistics().edit().remove(symlink));
    }
}

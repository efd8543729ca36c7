//! `ip4-punt-redirect`, `ip6-punt-redirect`: punted packets go by the paths of the redirect of the interface that received them.
//! They are for us, so no hop is taken off, and those with one left arrive.

use std::marker::PhantomData;

use quiver_engine::{Context, Flags, Frame, Node, Paged, Snapshot, arcs};
use quiver_interface::LOCAL;
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::GroupRows;

use crate::family::Punted;

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Punted {
        Rewrite => node (F::NAMES.rewrite),
        /// Those of interfaces whose redirect has just gone.
        Pass => next_feature,
        Drop => drop "redirect-drop",
        Unresolved => drop "unresolved-path",
    }
}

/// A node.
#[derive(Clone)]
pub struct Redirect<F: Punted> {
    groups: Snapshot<Paged<Option<u32>>>,
    rows: Snapshot<GroupRows>,
    family: PhantomData<F>,
}

impl<F: Punted> Redirect<F> {
    /// With the groups of interfaces, by their numbers, and what these come to.
    pub fn new(groups: Snapshot<Paged<Option<u32>>>, rows: Snapshot<GroupRows>) -> Redirect<F> {
        Redirect { groups, rows, family: PhantomData }
    }
}

impl<F: Punted> Node for Redirect<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the group was published.
        let groups = self.groups.read(cx.guard);
        let rows = self.rows.read(cx.guard);
        let of = |interface: u32| groups.get(interface as usize).copied().flatten();
        for i in 0..frame.len() {
            let Some(group) = of(frame.rx[i]).or_else(|| of(LOCAL.0)) else {
                frame.next[i] = Next::Pass.into();
                continue;
            };
            let bucket = F::flow_hash_of(frame.bytes(cx.pool, i));
            let hop = rows.get(group as usize).map_or(hop::NO_ROUTE, |row| row.hop(bucket));
            frame.next[i] = match hop {
                hop::FIRST_ADJACENCY.. => {
                    frame.hop[i] = hop;
                    frame.set_flag(i, Flags::LOCAL);
                    Next::Rewrite
                }
                hop::UNRESOLVED | hop::LOCAL => Next::Unresolved,
                _ => Next::Drop,
            }
            .into();
        }
    }
}

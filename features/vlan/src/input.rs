//! `vlan-input`: frames whose tags name a sub-interface are received by it. In layer 2 they keep their tags; for layer 3
//! the tags come off, and `ethernet-input` sees the frame again.
//!
//! Drops: `too-short`, `unknown-vlan`, `interface-down`.

use std::sync::Arc;

use quiver_engine::counters::Row;
use quiver_engine::trace::Record;
use quiver_engine::{Context, Frame, Node, Paged, Snapshot, arcs};
use quiver_ethernet::Port;
use quiver_table::{ExactTable, ExactView};

use crate::matching::{Found, Part, find, part, view};
use crate::tags::{Tags, replace};

arcs! {
    /// Where frames go.
    pub enum Next {
        Ethernet => node "ethernet-input",
        Layer2 => features "l2-input",
        TooShort => drop "too-short",
        UnknownVlan => drop "unknown-vlan",
        Down => drop "interface-down",
    }
}

/// The node.
pub struct VlanInput {
    pub(crate) table: ExactTable,
    pub(crate) parts: Snapshot<Paged<Part>>,
    pub(crate) ports: Snapshot<Paged<Port>>,
    pub(crate) received: Arc<Row>,
}

impl Node for VlanInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (table, parts) = (view(&self.table, cx.guard), self.parts.read(cx.guard));
        let ports = self.ports.read(cx.guard);
        for i in 0..frame.len() {
            frame.next[i] = self.sort(cx, frame, i, &table, parts, ports).into();
        }
    }
}

impl VlanInput {
    fn sort(
        &self,
        cx: &mut Context,
        frame: &mut Frame,
        i: usize,
        table: &ExactView,
        parts: &Paged<Part>,
        ports: &Paged<Port>,
    ) -> Next {
        let Some(tags) = Tags::read(frame.bytes(cx.pool, i)) else { return Next::TooShort };
        let is_layer2 = |interface: u16| ports.get(usize::from(interface)).is_some_and(|port| port.is_layer2());
        let rx = frame.rx[i];
        match find(table, rx, &tags) {
            Some(Found { interface, tags }) => {
                if !part(parts, interface).up {
                    return Next::Down;
                }
                frame.rx[i] = interface;
                self.received.add(interface.into(), 1, frame.length[i].into());
                match is_layer2(interface) {
                    true => Next::Layer2,
                    false => layer3(cx, frame, i, tags),
                }
            }
            // What no sub-interface wants is the interface's own in layer 2, and in layer 3 if its tag is no VLAN's.
            None if is_layer2(rx) => Next::Layer2,
            None if tags.count == 1 && tags.first[0].vlan() == 0 => layer3(cx, frame, i, 1),
            None => Next::UnknownVlan,
        }
    }
}

fn layer3(cx: &mut Context, frame: &mut Frame, i: usize, tags: usize) -> Next {
    match replace(cx, frame, i, tags, &[]) {
        true => Next::Ethernet,
        false => Next::TooShort,
    }
}

/// The tags, for the trace.
pub(crate) fn describe(record: &Record) -> String {
    let Some(tags) = Tags::read(&record.bytes) else { return format!("{} bytes", record.length) };
    let vlans: Vec<_> = tags.first.iter().take(tags.count).map(|tag| format!("vlan {}", tag.vlan())).collect();
    if vlans.is_empty() { "untagged".into() } else { vlans.join(" / ") }
}

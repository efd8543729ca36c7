//! `l2-flood`: frames for many go to every member of the domain but their own interface and its split-horizon group, as
//! copies; the last one is the original.
//!
//! Drops: `no-member` if the domain has no other member; `no-buffer` if there were too few buffers for all copies:
//! members later in the list have missed the frame then.

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};

use crate::layer2::{Layer2, Port};

arcs! {
    /// Where each copy goes.
    pub enum Next {
        Output => features "l2-output",
        Virtual => node "bvi-input",
        NoMember => drop "no-member",
        NoBuffer => drop "no-buffer",
    }
}

/// The node.
pub struct L2Flood(pub(crate) Snapshot<Layer2>);

impl Node for L2Flood {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let layer2 = self.0.read(cx.guard);
        for i in 0..frame.len() {
            frame.next[i] = flood(layer2, cx, frame, i).into();
        }
    }
}

/// Sends the copies; returns the way of the original.
fn flood(layer2: &Layer2, cx: &mut Context, frame: &mut Frame, i: usize) -> Next {
    let rx = frame.rx[i];
    let group = (layer2.port(rx).word & Port::GROUP) as u8;
    let members = layer2.members(frame.hop[i] as u16).iter();
    let mut others = members.filter(|m| m.interface.0 != rx && (group == 0 || m.group != group)).peekable();
    while let Some(member) = others.next() {
        let next = if member.bvi { Next::Virtual } else { Next::Output };
        if others.peek().is_none() {
            frame.tx[i] = member.interface.0;
            return next;
        }
        let Some(mut copy) = frame.copy(cx.pool, i) else { return Next::NoBuffer };
        copy.tx = member.interface.0;
        cx.emit(next, copy);
    }
    Next::NoMember
}

//! `acl-input-ip4`, `acl-input-ip6`, `acl-input-l2`, `acl-output-ip4`, `acl-output-ip6`, `acl-output-l2`: the lists of an
//! interface are asked about what it receives and sends, on its way through layer 3 or layer 2.
//!
//! Drops: `denied`, by the first rule that meets a packet, or because none does; what is cut off is met by none. In layer 2
//! frames pass that carry neither IPv4 nor IPv6.

use std::marker::PhantomData;

use quiver_engine::{Context, Frame, Node, Snapshot, arcs};
use quiver_ip::Family;
use quiver_ip::family::BACK;
use quiver_ip::upper::Upper;
use quiver_wire::{EtherType, EthernetHeader, Header, V4, V6};

use crate::config::Lists;
use crate::interface::{Attached, Direction};
use crate::rule::{Action, Fields, decide};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        Denied => drop "denied",
    }
}

/// The nodes of each direction, and the arcs that they are features of.
pub const NODES: [[(&str, &str); 3]; 2] = [
    [("ip4-unicast", "acl-input-ip4"), ("ip6-unicast", "acl-input-ip6"), ("l2-input", "acl-input-l2")],
    [("ip4-output", "acl-output-ip4"), ("ip6-output", "acl-output-ip6"), ("l2-output", "acl-output-l2")],
];

/// By which VPP's clients look for what was denied.
pub(crate) const KNOWN: [[&str; 3]; 2] = [
    ["acl-plugin-in-ip4-fa", "acl-plugin-in-ip6-fa", "acl-plugin-in-ip4-l2"],
    ["acl-plugin-out-ip4-fa", "acl-plugin-out-ip6-fa", "acl-plugin-out-ip4-l2"],
];

/// What a node looks at of a packet.
pub trait Look: Clone + Send + 'static {
    /// Its fields, from where the node's packets of this direction begin. An error if it has none but should, None where it
    /// is none of ours.
    fn fields(packet: &[u8], direction: Direction) -> Result<Option<Fields>, Unreadable>;
}

/// A packet that is cut off before its fields end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A packet of one family.
#[derive(Clone)]
pub struct Routed<F>(PhantomData<F>);

/// A frame.
#[derive(Clone)]
pub struct Bridged;

impl<F: Family> Look for Routed<F> {
    fn fields(packet: &[u8], direction: Direction) -> Result<Option<Fields>, Unreadable> {
        let start = if direction == Direction::Output { BACK as usize } else { 0 };
        let packet = packet.get(start..).ok_or(Unreadable)?;
        Fields::of::<F>(packet).map(Some).ok_or(Unreadable)
    }
}

impl Look for Bridged {
    fn fields(frame: &[u8], _: Direction) -> Result<Option<Fields>, Unreadable> {
        let (ethernet, mut rest) = EthernetHeader::parse(frame).ok_or(Unreadable)?;
        let mut kind = ethernet.ethertype;
        while kind == EtherType::DOT1Q || kind == EtherType::DOT1AD {
            let (tag, behind) = rest.split_first_chunk::<4>().ok_or(Unreadable)?;
            (kind, rest) = (EtherType::new(u16::from_be_bytes([tag[2], tag[3]])), behind);
        }
        match kind {
            EtherType::IP4 => Fields::of::<V4>(rest).map(Some).ok_or(Unreadable),
            EtherType::IP6 => Fields::of::<V6>(rest).map(Some).ok_or(Unreadable),
            _ => Ok(None),
        }
    }
}

/// A node.
#[derive(Clone)]
pub struct Check<L: Look> {
    direction: Direction,
    attached: Snapshot<Attached>,
    lists: Snapshot<Lists>,
    look: PhantomData<L>,
}

impl<L: Look> Check<L> {
    /// With the lists by interface, and what they say.
    pub fn new(direction: Direction, attached: Snapshot<Attached>, lists: Snapshot<Lists>) -> Check<L> {
        Check { direction, attached, lists, look: PhantomData }
    }
}

/// Whether lists let a packet pass.
fn pass(attached: &[u32], lists: &Lists, fields: &Fields) -> bool {
    let asked = |list: &u32| decide(lists.get(*list as usize)?.as_ref()?, fields);
    attached.iter().find_map(asked) == Some(Action::Permit)
}

impl<L: Look> Node for Check<L> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let (attached, lists) = (self.attached.read(cx.guard), self.lists.read(cx.guard));
        for i in 0..frame.len() {
            let interface = match self.direction {
                Direction::Input => frame.rx[i],
                Direction::Output => frame.tx[i],
            };
            let of_interface = attached.get(usize::from(interface)).map_or(&[][..], |attached| attached);
            // It is not checked any more, or not yet.
            if of_interface.is_empty() {
                continue;
            }
            let passes = match L::fields(frame.bytes(cx.pool, i), self.direction) {
                Ok(Some(fields)) => pass(of_interface, lists, &fields.or(Upper::of_row(cx.pool, frame, i))),
                Ok(None) => true,
                Err(Unreadable) => false,
            };
            if !passes {
                frame.next[i] = Next::Denied.into();
            }
        }
    }
}

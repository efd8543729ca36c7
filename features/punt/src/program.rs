//! `punt-socket-rx`: packets that programs send by the daemon's datagram socket. Each stands behind eight bytes, in the machine's
//! order as VPP's clients have them: the number of an interface, and what is to be done: 0 sends it by that interface as the frame
//! that it is, whether it has a sub-interface's tags already or not, 1 and 2 look it up as a packet of IPv4 or IPv6 of ours, as what that interface receives is looked up.
//!
//! Datagrams of programs are not trusted: those with invalid content are dropped with a named reason.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_engine::{
    Context, Dataplane, DataplaneError, Frame, Injected, Node, NodeSpec, Paged, Publisher, Snapshot, arcs,
};
use quiver_interface::{InterfaceEvent, InterfaceId, LOCAL, Undecided, undecided, watch};
use quiver_vlan::outside::take_tags;
use quiver_wire::{EthernetHeader, Header, Ip4Header, Ip6Header};

/// The node.
pub const NAME: &str = "punt-socket-rx";
/// Bytes before a packet.
pub const DESCRIPTOR: usize = 8;
/// Bytes of a datagram at most: the longest packet of IPv4, in a frame with two tags.
pub const DATAGRAM_MAX: usize = DESCRIPTOR + EthernetHeader::LENGTH + 8 + u16::MAX as usize;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Output => features "interface-output",
        Ip4 => node "ip4-lookup",
        Ip6 => node "ip6-lookup",
        TooShort => drop "too-short",
        TooLong => drop "too-long",
        UnknownAction => drop "unknown-action",
        NoInterface => drop "no-such-interface",
        BadHeader => drop "bad-header",
    }
}

/// Where a program wants its packet to go, and the interface that it means; or the reason why it goes nowhere. Given the first
/// bytes of a datagram, the headers among them, and the length of all.
pub fn wanted(first: &[u8], length: usize) -> Result<(Next, u32), Next> {
    let number = |at: usize| Some(u32::from_ne_bytes(*first.get(at..)?.first_chunk()?));
    let (interface, action) = number(0).zip(number(4)).ok_or(Next::TooShort)?;
    let packet = first.get(DESCRIPTOR..).ok_or(Next::TooShort)?;
    let carried = length.checked_sub(DESCRIPTOR).ok_or(Next::TooShort)?;
    if length > DATAGRAM_MAX {
        return Err(Next::TooLong);
    }
    // Behind this node all count on the headers' lengths, as behind `ip4-input` and `ip6-input`.
    let next = match action {
        0 if packet.len() < EthernetHeader::LENGTH => return Err(Next::TooShort),
        0 => Next::Output,
        1 => match Ip4Header::parse(packet) {
            None => return Err(Next::TooShort),
            Some((header, _)) => {
                let (front, total) = (header.header_length(), usize::from(header.total_length.get()));
                let is_right =
                    header.version() == 4 && front >= Ip4Header::LENGTH && front <= total && total == carried;
                if is_right { Next::Ip4 } else { return Err(Next::BadHeader) }
            }
        },
        2 => match Ip6Header::parse(packet) {
            None => return Err(Next::TooShort),
            Some((header, _)) => {
                let total = Ip6Header::LENGTH + usize::from(header.payload_length.get());
                if header.version() == 6 && total == carried { Next::Ip6 } else { return Err(Next::BadHeader) }
            }
        },
        _ => return Err(Next::UnknownAction),
    };
    Ok((next, interface))
}

/// A node.
struct Programs {
    interfaces: Snapshot<Paged<bool>>,
}

impl Node for Programs {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let interfaces = self.interfaces.read(cx.guard);
        for i in 0..frame.len() {
            let next = match wanted(frame.bytes(cx.pool, i), frame.length[i] as usize) {
                Ok((_, interface)) if interfaces.get(interface as usize) != Some(&true) => Next::NoInterface,
                Ok(_) if !frame.advance(cx.pool, i, DESCRIPTOR as isize) => Next::TooShort,
                Ok((Next::Output, interface)) => {
                    frame.tx[i] = interface;
                    Next::Output
                }
                Ok((next, interface)) => {
                    frame.rx[i] = interface;
                    next
                }
                Err(next) => next,
            };
            frame.next[i] = next.into();
        }
    }
}

/// The interfaces that programs may name.
struct Known(Publisher<Paged<bool>>);

impl Known {
    fn set(&mut self, id: InterfaceId, is_there: bool) {
        self.0.edit(|known| *known.get_mut(id.index()) = is_there);
    }
}

/// Has a packet go where a program wants, which sent this datagram to the daemon.
pub fn accept(control: &Control, datagram: &[u8]) {
    let mut bytes = datagram.to_vec();
    if let Ok((Next::Output, interface)) = wanted(datagram, datagram.len()) {
        // Sub-interfaces put their tags in.
        let mut frame = bytes.split_off(DESCRIPTOR);
        take_tags(control, InterfaceId(interface), &mut frame);
        bytes.append(&mut frame);
    }
    let dataplane = control.room::<Dataplane>();
    if let Ok(node) = dataplane.graph().find(NAME) {
        dataplane.inject(0, node, Injected { bytes, rx: LOCAL.0, tx: 0, hop: 0 });
    }
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let mut known = Known(Publisher::new(dataplane.domain(), Paged::default()));
        known.set(LOCAL, true);
        let interfaces = known.0.snapshot();
        let node = move |_| Programs { interfaces: interfaces.clone() };
        dataplane.blueprint().node(NodeSpec::new(NAME, Next::ARCS, node).describe(describe))?;
        control.insert_room(known);
    }
    let packet = ["too-short", "too-long", "unknown-action", "no-such-interface", "bad-header"];
    undecided(control, NAME, Undecided::Packet, &packet);
    watch(control, |control, event| {
        let (id, is_there) = match event {
            InterfaceEvent::Created(id) => (id, true),
            InterfaceEvent::Removed(id) => (id, false),
            _ => return,
        };
        control.room_mut::<Known>().set(id, is_there);
    });
    Ok(())
}

/// Text of a datagram in traces.
fn describe(record: &Record) -> String {
    match wanted(&record.bytes, record.length as usize) {
        Ok((next, interface)) => format!("interface {interface}, to {}", Next::ARCS[next as usize].name),
        Err(_) => "no packet behind a descriptor".into(),
    }
}

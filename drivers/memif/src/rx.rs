//! Receiving: packets are copied out of the peer's memory into buffers of ours, and only then looked at.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::buffer::Span;
use quiver_engine::isa::{Isa, Kernel};
use quiver_engine::lines::Filling;
use quiver_engine::{Frame, Lent, Level, RxContext, RxQueue, arcs};
use quiver_memif_protocol::receiver::{Fragment, Take, Taken, Whole, packets};
use quiver_memif_protocol::region::{GROUP, LINE, Sources};
use quiver_memif_protocol::{Broken, Interrupt, Place, Receiver};
use quiver_wire::{EtherType, EthernetHeader, Header, MacAddress};
use rustix::event::epoll;
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::handover::Holder;

arcs! {
    /// Arcs of `memif-input`.
    pub(crate) enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
        /// The peer's descriptor is invalid.
        Truncated => drop "truncated",
    }
}

/// Bytes of a packet at most; longer ones the graph does not carry.
const PACKET_MAX: usize = 64 << 10;

/// The rings of a connection that one queue serves.
pub(crate) struct RxRings {
    rings: Vec<RxRing>,
    /// The ring that has the first word in the next turn.
    first: usize,
    /// Readable when any of the rings' eventfds is, or the queue's own.
    interrupts: OwnedFd,
}
/// A ring that one queue receives by.
pub(crate) struct RxRing {
    pub receiver: Receiver,
    pub interrupt: Arc<OwnedFd>,
    /// Buffers that the master writes to, of a slave without copies.
    pub lent: Option<LentBuffers>,
}
/// Packet buffers that a master writes to.
pub(crate) struct LentBuffers {
    lent: Lent,
    /// Room to note which have been replaced by others: places in the ring.
    replaced: Vec<(usize, Span)>,
}
impl LentBuffers {
    pub fn new(lent: Lent) -> LentBuffers {
        LentBuffers { lent, replaced: vec![] }
    }
}

/// The region in which a slave's packet buffers lie, if it shares them.
pub(crate) const BUFFERS: u16 = 1;

/// A stretch of the buffers as descriptors have it. The memory is shared only if all of it can be told in 32 bits.
pub(crate) fn place(span: Span) -> Place {
    Place { region: BUFFERS, offset: span.offset as u32, length: span.length }
}

impl RxRings {
    /// Takes these rings with interrupts off; `changed` is the queue's own eventfd.
    pub fn new(rings: Vec<RxRing>, changed: &OwnedFd) -> Result<RxRings, Errno> {
        let interrupts = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let add = |fd: &OwnedFd| epoll::add(&interrupts, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        add(changed)?;
        for RxRing { receiver, interrupt, .. } in &rings {
            add(interrupt)?;
            receiver.ring().set_interrupt(false);
        }
        Ok(RxRings { rings, first: 0, interrupts })
    }
    /// Asks to be woken for the next packet. Returns whether packets wait already, for which no wake-up will come.
    fn arm(&self) -> bool {
        let mut waits = false;
        for RxRing { receiver, .. } in &self.rings {
            receiver.ring().set_interrupt(true);
            waits |= receiver.waiting() != Ok(0);
        }
        waits
    }
    fn disarm(&self) {
        for RxRing { receiver, interrupt, .. } in &self.rings {
            receiver.ring().set_interrupt(false);
            Interrupt::clear(&**interrupt);
        }
    }
}

/// A receive queue. It outlives connections.
pub(crate) struct Rx {
    holder: Holder<RxRings>,
    /// Signaled by control when the rings change, and by this queue when packets came without an interrupt.
    changed: Arc<OwnedFd>,
    is_armed: Cell<bool>,
    /// In mode ip: our address, which packets are given a header for.
    ip: Option<MacAddress>,
    /// The instruction set that the copies are compiled for.
    level: Level,
}

impl Rx {
    pub fn new(holder: Holder<RxRings>, changed: Arc<OwnedFd>, ip: Option<MacAddress>, level: Level) -> Rx {
        Rx { holder, changed, is_armed: Cell::new(false), ip, level }
    }
}

impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, most) = (frame.len(), cx.most.min(frame.room()));
        // Before a look at what control gives: it gives first and notifies then, so what is cleared here has been given.
        let was_armed = self.is_armed.take();
        if was_armed || self.holder.is_stale() {
            Interrupt::clear(&*self.changed);
            self.holder.get();
        }
        let Some(held) = self.holder.held_mut() else { return 0 };
        if was_armed {
            held.disarm();
        }
        let count = held.rings.len();
        for turn in 0..count {
            let left = most - (frame.len() - before);
            if left == 0 {
                break;
            }
            let ring = &mut held.rings[(held.first + turn) % count];
            let RxRing { receiver, lent, .. } = ring;
            let taken = match (lent, self.ip) {
                (None, None) => take(receiver, self.level, cx, frame, left),
                (None, Some(mac)) => take_ip(receiver, cx, frame, left, mac),
                (Some(lent), ip) => take_in_place(receiver, lent, cx, frame, left, ip),
            };
            if let Err(broken) = taken {
                tracing::warn!("memif: {broken}; the connection ends");
                self.holder.broken();
                return frame.len() - before;
            }
        }
        held.first = held.first.wrapping_add(1);
        frame.len() - before
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.is_armed.set(true);
        let Some(held) = self.holder.held() else { return Some(self.changed.as_fd()) };
        if held.arm() {
            Interrupt::notify(&*self.changed);
        }
        Some(held.interrupts.as_fd())
    }
}

/// Copies packets of one buffer to a frame, up to one that is none, and says what came of it.
struct Load<'a, 'f> {
    receiver: &'a mut Receiver,
    filling: Filling<'f>,
    interface: u32,
    most: usize,
    taken: &'a mut Result<Taken, Broken>,
}
impl Kernel for Load<'_, '_> {
    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Load { receiver, filling, interface, most, taken } = self;
        *taken = receiver.receive_whole(most, Fill { filling, interface });
    }
}

/// A frame that takes packets.
struct Fill<'f> {
    filling: Filling<'f>,
    interface: u32,
}
impl Take for Fill<'_> {
    #[inline(always)]
    fn one(&mut self, packet: Whole<'_>) -> bool {
        // Whole lines may reach beyond the peer's memory, and long packets beyond a buffer.
        self.filling.push(packet.length, |to| packet.read_lines(to)) || self.push_odd(packet)
    }
    #[inline(always)]
    fn group(&mut self, lengths: &[u32; GROUP], lines: usize, packets: Sources<'_>) -> bool {
        let first = |i, to: &mut [u8; LINE]| packets.read_first(i, to);
        self.filling.push_group(lengths, lines, first, |i, line, to| packets.read(i, line, to))
    }
}
impl Fill<'_> {
    #[cold]
    #[inline(never)]
    fn push_odd(&mut self, packet: Whole<'_>) -> bool {
        let mut at = 0;
        let fill = |to: &mut [u8]| {
            let read = packet.read_from(at, to);
            at += to.len();
            read
        };
        let (interface, (pool, frame)) = (self.interface, self.filling.parts());
        packet.length <= PACKET_MAX && frame.push_filled(pool, packet.length, interface, fill)
    }
}

/// Receives frames.
#[inline]
fn take(
    receiver: &mut Receiver,
    level: Level,
    cx: &mut RxContext,
    frame: &mut Frame,
    most: usize,
) -> Result<(), Broken> {
    // PERF: most rings that are looked at are empty, and nothing was taken before that is not given back.
    if receiver.is_empty() {
        return Ok(());
    }
    // What comes in one piece, as far as that goes, and then what does not.
    let mut whole = Ok(Taken::default());
    let filling = frame.filling(cx.pool, cx.interface);
    level.run(Load { receiver, filling, interface: cx.interface, most, taken: &mut whole });
    let whole = whole?;
    if whole.others && whole.packets < most {
        receiver.receive(most - whole.packets)?;
        for packet in packets(receiver.burst()) {
            gather(receiver, packet, cx, frame, &[]);
        }
    }
    receiver.release();
    Ok(())
}

/// Receives IP packets, and gives each the header that it would have on Ethernet.
fn take_ip(
    receiver: &mut Receiver,
    cx: &mut RxContext,
    frame: &mut Frame,
    most: usize,
    mac: MacAddress,
) -> Result<(), Broken> {
    receiver.receive(most)?;
    for packet in packets(receiver.burst()) {
        gather_ip(receiver, packet, cx, frame, mac);
    }
    receiver.release();
    Ok(())
}

/// Receives an IP packet behind the header that it would have on Ethernet.
fn gather_ip(receiver: &Receiver, packet: &[Fragment], cx: &mut RxContext, frame: &mut Frame, mac: MacAddress) {
    let header = EthernetHeader { destination: mac, source: MacAddress::ZERO, ethertype: EtherType::IP4 };
    let row = frame.len();
    gather(receiver, packet, cx, frame, header.as_bytes());
    if frame.len() > row {
        tell_version(cx, frame, row);
    }
}

/// Corrects the header in front of an IP packet of version 6.
fn tell_version(cx: &mut RxContext, frame: &mut Frame, row: usize) {
    let bytes = frame.bytes_mut(cx.pool, row);
    if let Some(start) = bytes.first_chunk_mut::<{ EthernetHeader::LENGTH + 1 }>()
        && start[EthernetHeader::LENGTH] >> 4 == 6
    {
        start[12..14].copy_from_slice(&[0x86, 0xdd]);
    }
}

/// Nodes look for headers in so many bytes of a packet's first buffer: one that has more is received where it is only if
/// they are there.
const HEADERS: u32 = 64;

/// Receives packets where they are: in buffers of ours that the master has written to. Others are lent in their places.
fn take_in_place(
    receiver: &mut Receiver,
    LentBuffers { lent, replaced }: &mut LentBuffers,
    cx: &mut RxContext,
    frame: &mut Frame,
    most: usize,
    ip: Option<MacAddress>,
) -> Result<(), Broken> {
    let mut most = most;
    if ip.is_none() {
        // What comes in one piece, as far as that goes, and then what does not.
        let mut burst = lent.burst(cx.pool, frame, cx.interface);
        let taken =
            receiver.exchange(most, |slot, length| burst.receive(slot, length).map(|span| place(span).offset))?;
        if !taken.others {
            return Ok(());
        }
        most -= taken.packets;
    }
    receiver.receive(most)?;
    let (mut at, end) = (0, receiver.burst().len());
    while at < end {
        let length = packets(&receiver.burst()[at..]).next().map_or(1, <[Fragment]>::len);
        let packet = &receiver.burst()[at..at + length];
        let bytes = packet.iter().fold(0, |sum: usize, part| sum.saturating_add(part.place.length as usize));
        if packet.len() > 1 && packet[0].place.length < HEADERS {
            // Its buffers stay where they are.
            match ip {
                Some(mac) => gather_ip(receiver, packet, cx, frame, mac),
                None => gather(receiver, packet, cx, frame, &[]),
            }
        } else if is_sane(packet, bytes) {
            let parts = packet.iter().enumerate().map(|(i, part)| (receiver.slot(at + i), part.place.length));
            let replace = |slot, span| replaced.push((slot, span));
            let row = frame.len();
            if !lent.receive(cx.pool, frame, cx.interface, parts, replace) {
                cx.lose(Next::NoBuffer, 1);
            } else if let Some(mac) = ip
                && frame.advance(cx.pool, row, -(EthernetHeader::LENGTH as isize))
            {
                let header = EthernetHeader { destination: mac, source: MacAddress::ZERO, ethertype: EtherType::IP4 };
                frame.bytes_mut(cx.pool, row)[..EthernetHeader::LENGTH].copy_from_slice(header.as_bytes());
                tell_version(cx, frame, row);
            }
            replaced.drain(..).for_each(|(slot, span)| receiver.replace(slot, place(span).offset));
        } else {
            cx.lose(Next::Truncated, 1);
        }
        at += length;
    }
    receiver.release();
    Ok(())
}

/// Whether a packet can be received: its end is there, every part lies where it may, and it has a length that the graph
/// carries.
#[inline(always)]
fn is_sane(packet: &[Fragment], length: usize) -> bool {
    let mut is_sane = length > 0 && length <= PACKET_MAX;
    for fragment in packet {
        is_sane &= fragment.is_valid;
    }
    is_sane & packet.last().is_some_and(|last| !last.has_next)
}

/// Receives a packet of any number of parts, behind a header of ours.
fn gather(receiver: &Receiver, packet: &[Fragment], cx: &mut RxContext, frame: &mut Frame, header: &[u8]) {
    let lengths = packet.iter().map(|fragment| fragment.place.length as usize);
    let length = lengths.fold(0, usize::saturating_add);
    if !is_sane(packet, length) {
        cx.lose(Next::Truncated, 1);
        return;
    }
    let (mut header, mut parts, mut at) = (header, packet.iter(), 0);
    let mut part = parts.next();
    let pushed = frame.push_filled(cx.pool, header.len() + length, cx.interface, |to| {
        // It is far shorter than a buffer, so all of it goes into the first one.
        let (start, mut to) = to.split_at_mut(header.len());
        start.copy_from_slice(std::mem::take(&mut header));
        while let Some(fragment) = part
            && !to.is_empty()
        {
            let here = (fragment.place.length as usize - at).min(to.len());
            let (now, later) = to.split_at_mut(here);
            if !receiver.read_from(fragment, at, now) {
                return false;
            }
            (at, to) = (at + here, later);
            if at == fragment.place.length as usize {
                (part, at) = (parts.next(), 0);
            }
        }
        true
    });
    if !pushed {
        cx.lose(Next::NoBuffer, 1);
    }
}

//! `tcp-mss-clamping-ip4-in`, `tcp-mss-clamping-ip4-out`, and the same for IPv6: lower the MSS option of SYN segments
//! to the configured size (RFC 9293, 3.7.1). Changed segments leave by an arc of their own, which counts them. Later
//! fragments have no TCP header, and pass.

use std::marker::PhantomData;

use quiver_engine::{
    ArcSpec, Body, Columns, Guard, Isa, Mask, Mask8, PacketLanes, Paged, Quarters, Snapshot, Stage, To, Windows, arcs,
    unlikely,
};
use quiver_ip::family::BACK;
use quiver_ip::upper::{UpperLanes, reads};
use quiver_wire::{IpProtocol, TcpFlags};

use crate::config::Clamped;
use crate::segment::clamp;

/// Behind it packets go where the others do.
const CLAMPED: ArcSpec = ArcSpec { name: "clamped", to: To::NextFeature };

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Clamped {
        Pass => next_feature,
        Clamped => arc (CLAMPED),
    }
}

/// Offload flag: the checksum is still to be computed.
const UNFINISHED: u8 = 1;

/// A node for sent or received packets.
#[derive(Clone)]
pub struct Clamp<F: Clamped, const SENT: bool> {
    largest: Snapshot<Paged<u16>>,
    family: PhantomData<F>,
}

impl<F: Clamped, const SENT: bool> Clamp<F, SENT> {
    /// With the largest size by interface: 0 where there is none.
    pub fn new(largest: Snapshot<Paged<u16>>) -> Clamp<F, SENT> {
        Clamp { largest, family: PhantomData }
    }
}

impl<F: Clamped, const SENT: bool> Stage for Clamp<F, SENT> {
    const NAME: &'static str = if SENT { F::OUT } else { F::IN };
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = ClampBody<'f, F, SENT>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> ClampBody<'f, F, SENT> {
        ClampBody { largest: self.largest.read(guard), has_clamped: false, family: PhantomData }
    }
}

/// The node at work.
pub struct ClampBody<'f, F, const SENT: bool> {
    largest: &'f Paged<u16>,
    /// Whether some packet of the frame had announced more.
    has_clamped: bool,
    family: PhantomData<F>,
}

/// Where TCP has its flags.
const FLAGS: usize = 13;

impl<F: Clamped, const SENT: bool> ClampBody<'_, F, SENT> {
    /// Bytes in front of the IP header: on the way out there is another one.
    const START: usize = if SENT { BACK as usize } else { 0 };

    /// The packets that are looked at by themselves: those that open a connection, and those of which the windows do not say.
    #[inline(always)]
    fn odd<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> Mask<I> {
        let mut at_header = *p;
        at_header.length = p.length - Self::START as u32;
        let upper = UpperLanes::of::<F>(&at_header);
        let known = upper.known.without(p.length.lt(Self::START as u32));
        let is_tcp = upper.protocol.eq(u32::from(IpProtocol::TCP.0)) & known & p.live;
        let unknown = p.live.without(known);
        match upper.tcp_flags {
            Some(flags) => unknown | ((flags & u32::from(TcpFlags::SYN.0)).ne(0) & is_tcp),
            None if is_tcp.any() => unknown | Self::opening(p, is_tcp, windows),
            None => unknown,
        }
    }
    /// Of `packets`, which carry TCP behind an IP header without options, those that open a connection. For families
    /// whose window ends before the flags.
    #[inline(always)]
    fn opening<I: Isa>(p: &PacketLanes<I>, packets: Mask<I>, windows: &mut Windows<'_>) -> Mask<I> {
        let (offsets, mut opening) = (p.offset.each(), Mask8(0));
        for lane in packets.bits() {
            let tcp = windows.at(lane, offsets.at(lane) + (Self::START + F::HEADER_LENGTH) as u32);
            opening = opening | Mask8(u8::from(tcp[FLAGS] & TcpFlags::SYN.0 != 0) << lane);
        }
        packets.with(opening)
    }
    /// Clamps the sizes announced by those of `packets` that open connections, each looked at by itself. Returns those that had announced
    /// more.
    #[cold]
    #[inline(never)]
    fn clamp_each<I: Isa>(&self, p: &PacketLanes<I>, packets: Mask8, windows: &mut Windows<'_>) -> Mask8 {
        let (interfaces, mut clamped) = (if SENT { p.tx } else { p.rx }.array(), Mask8(0));
        for lane in packets {
            let largest = self.largest.get(interfaces[lane] as usize).copied().filter(|largest| *largest > 0);
            let packet = windows.packet(p, lane).get(Self::START..).unwrap_or_default();
            let tcp = F::payload(packet).filter(|payload| payload.protocol == IpProtocol::TCP);
            let tcp = tcp.filter(|tcp| tcp.fragment.unwrap_or(0) == 0);
            let (Some(largest), Some(tcp)) = (largest, tcp) else { continue };
            let has_checksum = windows.offload(p, lane).is_none_or(|offload| offload.flags & UNFINISHED == 0);
            if let Some(segment) = windows.packet_mut(p, lane).get_mut(Self::START + tcp.offset..) {
                clamped = clamped | Mask8(u8::from(clamp(segment, largest, has_checksum)) << lane);
            }
        }
        clamped
    }
}

impl<F: Clamped, const SENT: bool> Body for ClampBody<'_, F, SENT> {
    const BACK: u32 = if SENT { 0 } else { BACK };
    const WRITES: Columns = Columns::NONE;
    const READS: Quarters = reads::<F>();
    const REWRITES: Quarters = Quarters::ALL;
    const HAS_ORDINARY: bool = true;

    #[inline(always)]
    fn rewrote(&self) -> Quarters {
        if self.has_clamped { Quarters::ALL } else { Quarters::NONE }
    }
    #[inline(always)]
    fn ordinary<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) -> bool {
        !Self::odd(p, windows).any()
    }
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let odd = Self::odd(p, windows);
        if odd.any() {
            unlikely();
            let clamped = self.clamp_each(p, odd.bits(), windows);
            self.has_clamped |= clamped != Mask8(0);
            p.leave(p.live.with(clamped), Next::Clamped);
        }
    }
}

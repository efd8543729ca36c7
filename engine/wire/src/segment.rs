//! Cutting an offloaded packet into those that it stands for, as the last one to send it must where the port cannot
//! (virtio 1.2, 5.1.6; the fields as TCP senders fill them, RFC 9293, and RFC 768).
use crate::offload::{GsoType, VirtioNetHeader};
use crate::vlan::TaggedFrame;
use crate::{
    EtherType, Header, Ip4Header, Ip6Header, IpFamily, IpHeader, IpProtocol, Sum, TcpFlags, TcpHeader, UdpHeader, V4,
    V6,
};

/// The packets that a long one stands for, made one after the other.
#[derive(Debug, Clone)]
pub struct Segments<'p> {
    /// Everything that each segment repeats, from the Ethernet header to the transport header's options.
    headers: &'p [u8],
    /// Payload that remains to be sent.
    payload: &'p [u8],
    /// Bytes of payload in each segment.
    size: usize,
    /// Where the IP header begins.
    network: usize,
    /// Where the TCP or UDP header begins.
    transport: usize,
    is_ip6: bool,
    is_tcp: bool,
    /// Segments made.
    made: usize,
    /// Bytes of payload sent.
    sent: usize,
}

impl<'p> Segments<'p> {
    /// Prepares the cutting of a whole `packet`, Ethernet header first.
    ///
    /// `None` if headers and offload contradict each other, or ask for what no port of ours promised: fragments of UDP,
    /// tunnels.
    pub fn new(packet: &'p [u8], offload: &VirtioNetHeader) -> Option<Segments<'p>> {
        let (is_tcp, is_ip6) = match offload.gso_type.kind() {
            GsoType::TCP4 => (true, Some(false)),
            GsoType::TCP6 => (true, Some(true)),
            GsoType::UDP => (false, None),
            _ => return None,
        };
        let frame = TaggedFrame::parse(packet)?;
        let network = packet.len() - frame.payload.len();
        // Linux passes packets on whose checksum it found right, without a word on where it begins.
        let transport = match (offload.needs_checksum(), frame.ethertype) {
            (true, _) => usize::from(offload.checksum_start.get()),
            (false, EtherType::IP4) => network + Ip4Header::parse(frame.payload)?.0.header_length(),
            (false, _) => network + V6::HEADER_LENGTH,
        };
        let protocol = if is_tcp { IpProtocol::TCP } else { IpProtocol::UDP };
        let family_fits = match frame.ethertype {
            EtherType::IP4 => {
                let (ip, _) = Ip4Header::parse(frame.payload)?;
                ip.header_length() >= V4::HEADER_LENGTH
                    && network + ip.header_length() == transport
                    && ip.protocol == protocol
                    && !ip.is_fragment()
            }
            // The way through extension headers has been made by whoever found the transport header.
            EtherType::IP6 => {
                let (ip, _) = Ip6Header::parse(frame.payload)?;
                let behind = transport.checked_sub(network + V6::HEADER_LENGTH)?;
                behind > 0 || ip.next_header == protocol
            }
            _ => false,
        };
        let found_ip6 = frame.ethertype == EtherType::IP6;
        let size = usize::from(offload.gso_size.get());
        if !family_fits || is_ip6.is_some_and(|wanted| wanted != found_ip6) || size == 0 {
            return None;
        }
        let rest = packet.get(transport..)?;
        let length = if is_tcp {
            let (tcp, rest) = TcpHeader::parse(rest)?;
            tcp.split(rest)?;
            tcp.header_length()
        } else {
            UdpHeader::parse(rest)?;
            UdpHeader::LENGTH
        };
        let (headers, payload) = packet.split_at_checked(transport + length)?;
        if headers.len() - network + size.min(payload.len()) > usize::from(u16::MAX) {
            return None;
        }
        let (made, sent) = (0, 0);
        Some(Segments { headers, payload, size, network, transport, is_ip6: found_ip6, is_tcp, made, sent })
    }

    /// Writes the next segment in place of what is in `to`. False, and nothing written, when there are no more.
    pub fn next_into(&mut self, to: &mut Vec<u8>) -> bool {
        if self.payload.is_empty() && self.made > 0 {
            return false;
        }
        let (payload, rest) = self.payload.split_at(self.size.min(self.payload.len()));
        to.clear();
        to.extend_from_slice(self.headers);
        to.extend_from_slice(payload);
        self.payload = rest;
        // The parts were found by `new`, so that this cannot fail.
        let _ = if self.is_ip6 { self.ip6(to) } else { self.ip4(to) };
        self.made += 1;
        self.sent += payload.len();
        true
    }

    fn ip4(&self, segment: &mut [u8]) -> Option<()> {
        let (before, transport) = segment.split_at_mut_checked(self.transport)?;
        let (ip, options) = Ip4Header::parse_mut(before.get_mut(self.network..)?)?;
        ip.total_length = u16::try_from(self.transport - self.network + transport.len()).ok()?.into();
        // Each is a packet of its own, so that the identification counts on (RFC 6864, 4.1).
        ip.identification = ip.identification.get().wrapping_add(self.made as u16).into();
        ip.fill_checksum(options);
        let pseudo = V4::pseudo_header(ip.source(), ip.destination(), IpHeader::protocol(ip), transport.len() as u32);
        self.transport(transport, pseudo)
    }

    fn ip6(&self, segment: &mut [u8]) -> Option<()> {
        let (before, transport) = segment.split_at_mut_checked(self.transport)?;
        let (ip, extensions) = Ip6Header::parse_mut(before.get_mut(self.network..)?)?;
        ip.payload_length = u16::try_from(extensions.len() + transport.len()).ok()?.into();
        let protocol = if self.is_tcp { IpProtocol::TCP } else { IpProtocol::UDP };
        let pseudo = V6::pseudo_header(ip.source(), ip.destination(), protocol, transport.len() as u32);
        self.transport(transport, pseudo)
    }

    /// Fills in what differs from segment to segment in the transport header, and the checksum.
    fn transport(&self, transport: &mut [u8], pseudo: Sum) -> Option<()> {
        if self.is_tcp {
            let (tcp, _) = TcpHeader::parse_mut(transport)?;
            tcp.sequence = tcp.sequence.get().wrapping_add(self.sent as u32).into();
            if !self.payload.is_empty() {
                // The data goes on: neither its end nor the push belongs here.
                tcp.flags.0 &= !(TcpFlags::FIN.0 | TcpFlags::PSH.0);
            }
            if self.made > 0 {
                // The window was reduced once (RFC 3168, 6.1.2).
                tcp.flags.0 &= !TcpFlags::CWR.0;
            }
            tcp.checksum = 0.into();
            let sum = pseudo.add_bytes(transport).checksum();
            TcpHeader::parse_mut(transport)?.0.checksum = sum.into();
        } else {
            let length = u16::try_from(transport.len()).ok()?;
            let (udp, _) = UdpHeader::parse_mut(transport)?;
            (udp.length, udp.checksum) = (length.into(), 0.into());
            let sum = pseudo.add_bytes(transport).checksum_not_zero();
            UdpHeader::parse_mut(transport)?.0.checksum = sum.into();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::NEEDS_CHECKSUM;
    use etherparse::{PacketBuilder, PacketBuilderStep};
    use proptest::prelude::*;

    /// Link and IP layer of all packets below: with or without a tag, of either family.
    fn ip(ip6: bool, tag: bool, identification: u16) -> PacketBuilderStep<etherparse::IpHeaders> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let mut ip4 =
            etherparse::Ipv4Header::new(0, 61, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        (ip4.identification, ip4.dont_fragment) = (identification, true);
        let ip6_header =
            etherparse::Ipv6Header { hop_limit: 61, source: [0xfd; 16], destination: [0xfe; 16], ..Default::default() };
        let headers = match ip6 {
            true => etherparse::IpHeaders::Ipv6(ip6_header, Default::default()),
            false => etherparse::IpHeaders::Ipv4(ip4, Default::default()),
        };
        match tag {
            true => builder.single_vlan(etherparse::VlanId::try_new(100).unwrap()).ip(headers),
            false => builder.ip(headers),
        }
    }

    #[derive(Debug, Clone)]
    struct Tcp {
        ip6: bool,
        tag: bool,
        identification: u16,
        sequence: u32,
        flags: u8,
        options: usize,
        payload: Vec<u8>,
    }

    impl Tcp {
        /// The packet as an independent writer has it, checksums and all.
        fn build(&self) -> Vec<u8> {
            let mut tcp = etherparse::TcpHeader::new(4000, 80, self.sequence, 501);
            tcp.acknowledgment_number = 77;
            let flag = |bit: TcpFlags| self.flags & bit.0 != 0;
            (tcp.fin, tcp.psh, tcp.ack, tcp.cwr) =
                (flag(TcpFlags::FIN), flag(TcpFlags::PSH), flag(TcpFlags::ACK), flag(TcpFlags::CWR));
            tcp.set_options_raw(&vec![1; self.options]).unwrap();
            let mut bytes = vec![];
            let builder = ip(self.ip6, self.tag, self.identification).tcp_header(tcp);
            builder.write(&mut bytes, &self.payload).unwrap();
            bytes
        }
        fn offload(&self, size: u16) -> VirtioNetHeader {
            let start = 14 + 4 * u16::from(self.tag) + if self.ip6 { 40 } else { 20 };
            VirtioNetHeader {
                flags: NEEDS_CHECKSUM,
                gso_type: if self.ip6 { GsoType::TCP6 } else { GsoType::TCP4 },
                gso_size: size.into(),
                checksum_start: start.into(),
                checksum_offset: 16.into(),
                ..VirtioNetHeader::NONE
            }
        }
    }

    fn cut(packet: &[u8], offload: &VirtioNetHeader) -> Option<Vec<Vec<u8>>> {
        let mut segments = Segments::new(packet, offload)?;
        let (mut all, mut segment) = (vec![], vec![]);
        while segments.next_into(&mut segment) {
            all.push(segment.clone());
        }
        Some(all)
    }

    proptest! {
        #[test]
        fn tcp_is_cut_as_if_it_had_been_written_so(
            (ip6, tag, identification, sequence, flags) in (any::<bool>(), any::<bool>(), any::<u16>(), any::<u32>(), any::<u8>()),
            options in (0..=10usize).prop_map(|words| words * 4),
            payload in proptest::collection::vec(any::<u8>(), 1..6000),
            size in 1..3000u16,
        ) {
            let long = Tcp { ip6, tag, identification, sequence, flags, options, payload };
            let chunks = long.payload.chunks(size.into());
            let last = chunks.len() - 1;
            let expected: Vec<_> = chunks.enumerate().map(|(i, payload)| {
                let keep = if i == last { 0xff } else { !(TcpFlags::FIN.0 | TcpFlags::PSH.0) };
                let keep = keep & if i == 0 { 0xff } else { !TcpFlags::CWR.0 };
                Tcp {
                    flags: flags & keep,
                    identification: identification.wrapping_add(i as u16),
                    sequence: sequence.wrapping_add(u32::from(size) * i as u32),
                    payload: payload.to_vec(),
                    ..long.clone()
                }.build()
            }).collect();
            let mut packet = long.build();
            // What a sender leaves in the checksum field is of no account.
            let offload = long.offload(size);
            packet[usize::from(offload.checksum_start.get()) + 16] ^= 0x55;
            prop_assert_eq!(cut(&packet, &offload), Some(expected.clone()));
            let found_right = VirtioNetHeader { flags: 0, checksum_start: 0.into(), ..offload };
            prop_assert_eq!(cut(&packet, &found_right), Some(expected));
        }

        #[test]
        fn udp_is_cut_into_datagrams(
            (ip6, tag, identification) in (any::<bool>(), any::<bool>(), any::<u16>()),
            payload in proptest::collection::vec(any::<u8>(), 1..6000),
            size in 1..3000u16,
        ) {
            let build = |identification: u16, payload: &[u8]| {
                let mut bytes = vec![];
                ip(ip6, tag, identification).udp(4000, 53).write(&mut bytes, payload).unwrap();
                bytes
            };
            let chunks = payload.chunks(size.into()).enumerate();
            let expected: Vec<_> = chunks.map(|(i, part)| build(identification.wrapping_add(i as u16), part)).collect();
            let start = 14 + 4 * u16::from(tag) + if ip6 { 40 } else { 20 };
            let offload = VirtioNetHeader {
                flags: NEEDS_CHECKSUM,
                gso_type: GsoType::UDP,
                gso_size: size.into(),
                checksum_start: start.into(),
                checksum_offset: 6.into(),
                ..VirtioNetHeader::NONE
            };
            prop_assert_eq!(cut(&build(identification, &payload), &offload), Some(expected));
        }

        #[test]
        fn no_bytes_and_no_offload_do_harm(
            packet in proptest::collection::vec(any::<u8>(), 0..200),
            (kind, size, start, ethertype) in (0..8u8, 0..100u16, 0..250u16, any::<bool>()),
        ) {
            let mut packet = packet;
            if let Some(field) = packet.get_mut(12..15) {
                // Most random bytes are no IP packet; these nearly are.
                field.copy_from_slice(if ethertype { b"\x08\x00\x45" } else { b"\x86\xdd\x60" });
            }
            let offload = VirtioNetHeader {
                flags: kind & NEEDS_CHECKSUM,
                gso_type: GsoType(kind),
                gso_size: size.into(),
                checksum_start: start.into(),
                ..VirtioNetHeader::NONE
            };
            if let Some(segments) = cut(&packet, &offload) {
                prop_assert!(segments.iter().map(Vec::len).sum::<usize>() >= packet.len());
            }
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let tcp =
            Tcp { ip6: false, tag: true, identification: 1, sequence: 1, flags: 0, options: 12, payload: vec![7; 99] };
        let (packet, right) = (tcp.build(), tcp.offload(50));
        assert_eq!(cut(&packet, &right).map(|segments| segments.len()), Some(2));
        let wrong = [
            VirtioNetHeader { gso_size: 0.into(), ..right },
            VirtioNetHeader { gso_type: GsoType::TCP6, ..right },
            VirtioNetHeader { gso_type: GsoType::UDP, ..right },
            VirtioNetHeader { gso_type: GsoType::UDP_FRAGMENTS, ..right },
            VirtioNetHeader { checksum_start: 37.into(), ..right },
            VirtioNetHeader { checksum_start: 60_000.into(), ..right },
        ];
        for offload in wrong {
            assert_eq!(cut(&packet, &offload), None, "{offload:?}");
        }
        assert_eq!(cut(&packet[..14 + 4 + 20 + 31], &right), None, "the options are cut off");
    }
}

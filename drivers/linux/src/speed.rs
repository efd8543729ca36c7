//! Speed of links, by Linux's family `ethtool` of generic netlink (Documentation/networking/ethtool-netlink.rst there).

use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use rtnetlink::packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable, NlasIterator, ParseableParametrized,
};
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

/// ETHTOOL_MSG_LINKMODES_GET.
const GET_LINK_MODES: u8 = 4;
/// ETHTOOL_A_LINKMODES_HEADER, a nest.
const HEADER: u16 = 1 | 1 << 15;
/// ETHTOOL_A_HEADER_DEV_INDEX.
const HEADER_INDEX: u16 = 1;
/// ETHTOOL_A_LINKMODES_SPEED, in megabits a second.
const SPEED: u16 = 5;
/// Speed of a driver that has no figure (SPEED_UNKNOWN).
const UNKNOWN: u32 = u32::MAX;
/// Longer than any answer: the names of all modes that a link could have are in it.
const ANSWER_MAX: usize = 32 << 10;

/// A socket to ask by, in the namespace in which it was opened.
pub struct Speed {
    socket: Socket,
    family: u16,
}

impl Speed {
    /// None where Linux has no such family, which is so before 5.6.
    pub fn open() -> Option<Speed> {
        let mut socket = Socket::new(NETLINK_GENERIC).ok()?;
        socket.bind(&SocketAddr::new(0, 0)).ok()?;
        // Linux has answered when the request is sent, so nothing is waited for.
        socket.set_non_blocking(true).ok()?;
        let name = GenlCtrlAttrs::FamilyName("ethtool".into());
        let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] });
        let family = ask(&socket, request)?.payload.nlas.into_iter().find_map(|attribute| match attribute {
            GenlCtrlAttrs::FamilyId(family) => Some(family),
            _ => None,
        });
        Some(Speed { socket, family: family? })
    }

    /// Kilobits that the link of this number carries a second; none where Linux does not know.
    pub fn of(&mut self, index: u32) -> Option<u32> {
        let mut request = GenlMessage::from_payload(LinkModes::Of(index));
        request.set_resolved_family_id(self.family);
        match ask(&self.socket, request)?.payload {
            LinkModes::Speed(megabits) if megabits != UNKNOWN && megabits > 0 => Some(megabits.saturating_mul(1000)),
            _ => None,
        }
    }
}

/// The answer to a request; none if it was refused.
fn ask<T>(socket: &Socket, request: GenlMessage<T>) -> Option<GenlMessage<T>>
where
    GenlMessage<T>: NetlinkSerializable + NetlinkDeserializable + Into<NetlinkPayload<GenlMessage<T>>>,
{
    let mut request = NetlinkMessage::from(request);
    request.header.flags = NLM_F_REQUEST;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0).ok()?;
    let mut answer = Vec::with_capacity(ANSWER_MAX);
    socket.recv(&mut answer, 0).ok()?;
    match NetlinkMessage::deserialize(&answer).ok()?.payload {
        NetlinkPayload::InnerMessage(answer) => Some(answer),
        _ => None,
    }
}

/// Of the messages on link modes what is needed here.
#[derive(Debug)]
enum LinkModes {
    /// Those of the link of this number are asked for.
    Of(u32),
    /// The answer, in megabits a second.
    Speed(u32),
}

impl GenlFamily for LinkModes {
    fn family_name() -> &'static str {
        "ethtool"
    }
    fn command(&self) -> u8 {
        GET_LINK_MODES
    }
    fn version(&self) -> u8 {
        1
    }
}

impl LinkModes {
    fn attribute(&self) -> DefaultNla {
        match self {
            LinkModes::Of(index) => {
                let index = DefaultNla::new(HEADER_INDEX, index.to_ne_bytes().to_vec());
                let mut header = vec![0; index.buffer_len()];
                index.emit(&mut header);
                DefaultNla::new(HEADER, header)
            }
            LinkModes::Speed(megabits) => DefaultNla::new(SPEED, megabits.to_ne_bytes().to_vec()),
        }
    }
}

impl Emitable for LinkModes {
    fn buffer_len(&self) -> usize {
        self.attribute().buffer_len()
    }
    fn emit(&self, buffer: &mut [u8]) {
        self.attribute().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for LinkModes {
    fn parse_with_param(bytes: &[u8], _: GenlHeader) -> Result<LinkModes, DecodeError> {
        for attribute in NlasIterator::new(bytes) {
            let attribute = attribute?;
            if attribute.kind() == SPEED {
                let megabits = attribute.value().try_into().map_err(|_| DecodeError::from("a speed has four bytes"))?;
                return Ok(LinkModes::Speed(u32::from_ne_bytes(megabits)));
            }
        }
        Ok(LinkModes::Speed(UNKNOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_speed_and_what_is_not_there_are_unknown() {
        let mut speed = Speed::open().expect("Linux 5.6 or newer");
        assert_eq!((speed.of(1), speed.of(u32::MAX)), (None, None), "the loopback interface, and none");
        // A refusal leaves nothing behind that the next answer could be taken for.
        assert_eq!(speed.of(1), None);
    }
}

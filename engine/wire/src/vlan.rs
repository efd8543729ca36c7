//! VLAN tags: IEEE 802.1Q, and two of them after each other (802.1ad, QinQ).
use crate::{EtherType, EthernetHeader, Header};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, big_endian::U16};

/// The number of a VLAN: 1 to 4094, or 0 where a tag carries a priority only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct VlanId(u16);

impl VlanId {
    /// In a tag: a priority, but no VLAN (IEEE 802.1Q, table 9-2).
    pub const PRIORITY: VlanId = VlanId(0);

    /// The VLAN of this number, 0 to 4094: 4095 is reserved (IEEE 802.1Q, table 9-2).
    pub const fn new(number: u16) -> Result<VlanId, VlanIdError> {
        if number < 4095 { Ok(VlanId(number)) } else { Err(VlanIdError::OutOfRange(number)) }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Why a number or text is no VLAN.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VlanIdError {
    /// The number does not fit, or is reserved.
    #[error("VLAN {0} does not exist: VLANs are 1 to 4094, or 0 for a priority tag")]
    OutOfRange(u16),
    /// It is no number.
    #[error("`{0}` is no VLAN: write a number from 1 to 4094, or 0 for a priority tag")]
    NotANumber(String),
}

impl TryFrom<u16> for VlanId {
    type Error = VlanIdError;

    fn try_from(number: u16) -> Result<VlanId, VlanIdError> {
        VlanId::new(number)
    }
}

impl From<VlanId> for u16 {
    fn from(vlan: VlanId) -> u16 {
        vlan.get()
    }
}

impl FromStr for VlanId {
    type Err = VlanIdError;

    fn from_str(text: &str) -> Result<VlanId, VlanIdError> {
        VlanId::new(text.parse().map_err(|_| VlanIdError::NotANumber(text.into()))?)
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Tag control information: priority (3 bits), drop eligible (1 bit), VLAN (12 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub struct Tci(pub U16);

impl Tci {
    /// The information of these parts; `priority` is 0 to 7, and its higher bits are ignored.
    pub const fn new(priority: u8, drop_eligible: bool, vlan: VlanId) -> Tci {
        Tci(U16::new((priority as u16 & 7) << 13 | (drop_eligible as u16) << 12 | vlan.0))
    }

    /// The priority code point, 0 to 7.
    #[inline(always)]
    pub const fn priority(self) -> u8 {
        (self.0.get() >> 13) as u8
    }

    /// Whether the frame is the first to drop under congestion.
    #[inline(always)]
    pub const fn drop_eligible(self) -> bool {
        self.0.get() & 0x1000 != 0
    }

    /// The 12 bits of the VLAN as they came: 4095 is possible here.
    #[inline(always)]
    pub const fn vlan(self) -> u16 {
        self.0.get() & 0x0fff
    }
}

/// A VLAN tag behind its ethertype (TPID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct VlanTag {
    /// Priority and VLAN.
    pub tci: Tci,
    /// Ethertype behind the tag.
    pub ethertype: EtherType,
}

/// An Ethernet header with the tags behind it, at most two; a third stays in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedFrame<'a> {
    /// The header proper; its ethertype is the outer tag's, if there is one.
    pub ethernet: &'a EthernetHeader,
    /// The tag next to the addresses.
    pub outer: Option<&'a VlanTag>,
    /// The tag behind the outer one.
    pub inner: Option<&'a VlanTag>,
    /// Ethertype of the payload.
    pub ethertype: EtherType,
    /// Bytes behind the last tag.
    pub payload: &'a [u8],
}

impl<'a> TaggedFrame<'a> {
    /// Reads header and tags; `None` where the frame ends within them.
    pub fn parse(frame: &'a [u8]) -> Option<TaggedFrame<'a>> {
        let (ethernet, payload) = EthernetHeader::parse(frame)?;
        let untagged = TaggedFrame { ethernet, outer: None, inner: None, ethertype: ethernet.ethertype, payload };
        if !ethernet.ethertype.is_vlan() {
            return Some(untagged);
        }
        let (outer, payload) = VlanTag::parse(payload)?;
        let tagged = TaggedFrame { outer: Some(outer), ethertype: outer.ethertype, payload, ..untagged };
        if !outer.ethertype.is_vlan() {
            return Some(tagged);
        }
        let (inner, payload) = VlanTag::parse(payload)?;
        Some(TaggedFrame { inner: Some(inner), ethertype: inner.ethertype, payload, ..tagged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_information_holds_three_fields() {
        let tci = Tci::new(5, true, VlanId::new(0x123).unwrap());
        assert_eq!(tci.0.get(), 0xb123);
        assert_eq!((tci.priority(), tci.drop_eligible(), tci.vlan()), (5, true, 0x123));
    }

    #[test]
    fn vlans_end_at_4094() {
        assert_eq!("4094".parse::<VlanId>().map(VlanId::get), Ok(4094));
        assert_eq!(VlanId::new(4095), Err(VlanIdError::OutOfRange(4095)));
        assert_eq!("ten".parse::<VlanId>(), Err(VlanIdError::NotANumber("ten".into())));
    }

    #[test]
    fn up_to_two_tags_are_taken_off() {
        let mut frame = [0; 24].to_vec();
        frame[12..24].copy_from_slice(b"\x88\xa8\x00\x64\x81\x00\x00\x0a\x81\x00\x00\x01");
        let tagged = TaggedFrame::parse(&frame).unwrap();
        assert_eq!(tagged.outer.unwrap().tci.vlan(), 100);
        assert_eq!(tagged.inner.unwrap().tci.vlan(), 10);
        assert_eq!((tagged.ethertype, tagged.payload), (EtherType::DOT1Q, &b"\x00\x01"[..]));
        assert_eq!(TaggedFrame::parse(&frame[..21]), None);
        frame[16..18].copy_from_slice(b"\x08\x00");
        let tagged = TaggedFrame::parse(&frame).unwrap();
        assert_eq!((tagged.inner, tagged.ethertype, tagged.payload.len()), (None, EtherType::IP4, 6));
    }
}

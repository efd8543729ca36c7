//! Fields that messages of several rooms have in common (`interface_types.api`, `ip_types.api`, `ethernet_types.api`, `fib_types.api`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_control::Control;
use quiver_wire::{InterfaceAddress, IpFamily, MacAddress, PrefixError, V4, V6};

use crate::api::extend;
use crate::definition::{Field, Kind, Shape, Type};
use crate::wire::{Input, Malformed};
use crate::{Refusal, Retval, Wire, flags};

mod fib;
mod interface;
mod interface_address;

pub use fib::{FibMplsLabel, FibPath, FibPathFlags, FibPathNh, FibPathNhProto, FibPathType, IpRoute};
pub use interface::{IfStatusFlags, IfType, LinkDuplex, MtuProto, RxMode, SubIfFlags};

/// The files of types, which clients look for whatever messages there are.
pub(crate) fn register(control: &Control) {
    extend(control, "interface_types", (1, 0, 0), |file| {
        file.define_type::<InterfaceIndex>();
        file.define_type::<IfStatusFlags>();
        file.define_type::<IfType>();
        file.define_type::<LinkDuplex>();
        file.define_type::<MtuProto>();
        file.define_type::<RxMode>();
        file.define_type::<SubIfFlags>();
    });
    extend(control, "ethernet_types", (1, 0, 0), |file| file.define_type::<MacAddress>());
    extend(control, "ip_types", (3, 0, 0), |file| {
        file.define_type::<AddressFamily>();
        file.define_type::<Address>();
        file.define_type::<AddressWithPrefix>();
        file.define_type::<InterfaceAddress<V4>>();
        file.define_type::<InterfaceAddress<V6>>();
    });
}

/// The number that stands for "none" or "all".
pub const NONE: u32 = u32::MAX;

/// The number of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceIndex(pub u32);

impl Wire for InterfaceIndex {
    fn of() -> Type {
        alias("interface_index", u32::of(), 0)
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        u32::take(input).map(InterfaceIndex)
    }
}

/// Another name for so many elements of a type, or for one where `length` is 0.
pub fn alias(name: &str, of: Type, length: usize) -> Type {
    Type::named(name, Kind::Alias { of: Box::new(of), length })
}

impl Wire for MacAddress {
    fn of() -> Type {
        alias("mac_address", u8::of(), 6)
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        <[u8; 6]>::take(input).map(MacAddress)
    }
}

impl Wire for Ipv4Addr {
    fn of() -> Type {
        alias("ip4_address", u8::of(), 4)
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.octets());
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        <[u8; 4]>::take(input).map(Ipv4Addr::from)
    }
}

impl Wire for Ipv6Addr {
    fn of() -> Type {
        alias("ip6_address", u8::of(), 16)
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.octets());
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        <[u8; 16]>::take(input).map(Ipv6Addr::from)
    }
}

/// Seconds since 1970, or since the daemon's start, as a message says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timestamp(pub f64);

impl Wire for Timestamp {
    fn of() -> Type {
        alias("timestamp", f64::of(), 0)
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        f64::take(input).map(Timestamp)
    }
}

/// IPv4 or IPv6.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressFamily {
    /// IPv4.
    #[default]
    #[value("ADDRESS_IP4")]
    Ip4 = 0,
    /// IPv6.
    #[value("ADDRESS_IP6")]
    Ip6 = 1,
}

flags! {
    /// Protocol of an IP payload: a named one of VPP, or any other number.
    pub struct IpProto(u8) as "ip_proto" Enum {
        /// IPv6's options for each hop; where packets are matched, whatever they carry.
        HOPOPT = 0 => "IP_API_PROTO_HOPOPT",
        /// ICMP.
        ICMP = 1 => "IP_API_PROTO_ICMP",
        /// IGMP.
        IGMP = 2 => "IP_API_PROTO_IGMP",
        /// TCP.
        TCP = 6 => "IP_API_PROTO_TCP",
        /// UDP.
        UDP = 17 => "IP_API_PROTO_UDP",
        /// GRE.
        GRE = 47 => "IP_API_PROTO_GRE",
        /// ESP.
        ESP = 50 => "IP_API_PROTO_ESP",
        /// AH.
        AH = 51 => "IP_API_PROTO_AH",
        /// ICMPv6.
        ICMP6 = 58 => "IP_API_PROTO_ICMP6",
        /// EIGRP.
        EIGRP = 88 => "IP_API_PROTO_EIGRP",
        /// OSPF.
        OSPF = 89 => "IP_API_PROTO_OSPF",
        /// SCTP.
        SCTP = 132 => "IP_API_PROTO_SCTP",
        /// None.
        RESERVED = 255 => "IP_API_PROTO_RESERVED",
    }
}

/// The bytes of an address of either family; IPv4 in the first four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressUnion(pub [u8; 16]);

impl AddressUnion {
    /// The bytes of an address.
    pub fn new(address: IpAddr) -> AddressUnion {
        let mut bytes = [0; 16];
        match address {
            IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes = address.octets(),
        }
        AddressUnion(bytes)
    }
    /// The address of this family.
    pub fn get(self, family: AddressFamily) -> IpAddr {
        let [a, b, c, d, ..] = self.0;
        match family {
            AddressFamily::Ip4 => Ipv4Addr::new(a, b, c, d).into(),
            AddressFamily::Ip6 => Ipv6Addr::from(self.0).into(),
        }
    }
}

impl Wire for AddressUnion {
    fn of() -> Type {
        let field = |name: &str, of| Field { name: name.into(), of, shape: Shape::One };
        let fields = vec![field("ip4", Ipv4Addr::of()), field("ip6", Ipv6Addr::of())];
        Type::named("address_union", Kind::Union(fields))
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Wire::take(input).map(AddressUnion)
    }
}

/// An address of either family.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Address family.
    pub af: AddressFamily,
    /// Its bytes.
    pub un: AddressUnion,
}

impl Address {
    /// The address.
    pub fn get(self) -> IpAddr {
        self.un.get(self.af)
    }
    /// The address, if it is one of this family.
    pub fn in_family<F: IpFamily>(self) -> Result<F::Address, Refusal> {
        let wrong =
            || Refusal::new(Retval::INVALID_ADDRESS_FAMILY, format!("{}: it is to be of {}", self.get(), F::TITLE));
        F::from_ip(self.get()).ok_or_else(wrong)
    }
    /// Whether it is one of IPv6.
    pub fn is_ip6(self) -> bool {
        self.af == AddressFamily::Ip6
    }
}
impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        let af = if address.is_ipv4() { AddressFamily::Ip4 } else { AddressFamily::Ip6 };
        Address { af, un: AddressUnion::new(address) }
    }
}
impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Address {
        IpAddr::V4(address).into()
    }
}
impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Address {
        IpAddr::V6(address).into()
    }
}

/// An address and a number of bits: those of a prefix, or an address of an interface and the prefix of its link.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: Address,
    /// The bits.
    pub len: u8,
}

impl Prefix {
    /// The prefix, if it is one of this family; bits behind its length do not count.
    pub fn in_family<F: IpFamily>(self) -> Result<quiver_wire::Prefix<F>, Refusal> {
        let wrong = |error: PrefixError| Refusal::new(Retval::INVALID_VALUE, format!("prefix: {error}"));
        quiver_wire::Prefix::new(self.address.in_family::<F>()?, self.len).map_err(wrong)
    }
}
impl<F: IpFamily> From<quiver_wire::Prefix<F>> for Prefix {
    fn from(prefix: quiver_wire::Prefix<F>) -> Prefix {
        let address: IpAddr = prefix.address().into();
        Prefix { address: address.into(), len: prefix.length() }
    }
}

/// A prefix whose address is that of an interface (`vl_api_address_with_prefix_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressWithPrefix(pub Prefix);

impl Wire for AddressWithPrefix {
    fn of() -> Type {
        alias("address_with_prefix", Prefix::of(), 0)
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Prefix::take(input).map(AddressWithPrefix)
    }
}

//! Objects: settings, sides of interfaces, addresses of the pool, static mappings.

use std::fmt;
use std::net::Ipv4Addr;

use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::serde_json::Value;
use quiver_control::{Object, ObjectError, Record};
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_wire::V4;

use crate::mappings::{Filtering, MappingMode};
use crate::rules::TwiceNat;
use crate::sides::{INSIDE, OUTPUT, OUTSIDE};

/// Settings of NAT44.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nat44")]
pub struct NatSettings {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Largest number of sessions of a worker.
    #[default(65536)]
    pub sessions: u32,
    /// Whether packets from the outside that match no session and no mapping are forwarded as they are, instead of dropped.
    #[default(false)]
    pub forwarding: bool,
    /// Seconds until a UDP session without packets ends, at least 120 by RFC 4787, REQ-5.
    #[default(300)]
    pub udp_timeout: u32,
    /// Seconds until an established TCP connection without packets ends, at least 7440 by RFC 5382, REQ-5.
    #[default(7440)]
    pub tcp_established_timeout: u32,
    /// Seconds until another TCP connection without packets ends.
    #[default(240)]
    pub tcp_transitory_timeout: u32,
    /// Seconds until an ICMP session without packets ends, at least 60 by RFC 5508, REQ-2.
    #[default(60)]
    pub icmp_timeout: u32,
    /// Seconds for which the port of an ended mapping of endpoint-independent mode rests before another one may have it, at least 120 by RFC 6888,
    /// REQ-8. Ports rest up to twice as long, and end their rest when no other port of their address is free.
    #[default(120)]
    pub port_rest: u32,
}

impl NatSettings {
    /// The only name.
    pub const NAME: &str = "default";
    /// The settings while none are configured.
    pub fn standard() -> NatSettings {
        NatSettings::new(Self::NAME.to_owned())
    }
}

/// Checks settings.
pub(crate) fn check_settings(settings: &NatSettings) -> Result<(), ObjectError> {
    match settings.name.as_str() {
        NatSettings::NAME => Ok(()),
        other => {
            Err(ObjectError::field("name", format!("{other} is not the name of the settings")).remedy("write default"))
        }
    }
}

/// NAT44 on an interface.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nat44-interfaces")]
pub struct NatInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether hosts behind it are translated.
    #[default(false)]
    pub inside: bool,
    /// Whether packets to it are translated when they come from an inside interface, and packets from it when they come in.
    #[default(false)]
    pub outside: bool,
    /// Whether packets to it are translated when they leave, whatever interface they came from. Packets from it are translated as with
    /// `outside`.
    #[default(false)]
    pub output: bool,
}

impl NatInterface {
    /// Its sides.
    pub fn sides(&self) -> u32 {
        let of = |is: bool, side: u32| if is { side } else { 0 };
        of(self.inside, INSIDE) | of(self.outside, OUTSIDE) | of(self.output, OUTPUT)
    }
}

/// Addresses to which hosts on the inside are translated.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nat44-addresses")]
pub struct NatAddresses {
    /// The first address to which hosts are translated.
    #[key]
    pub first: Ipv4Addr,
    /// Last address. Default: the first one.
    pub last: Option<Ipv4Addr>,
    /// Table whose hosts they serve. Default: all tables.
    pub table: Option<TableNumber<V4>>,
    /// Whether they are for clients from the outside, of mappings with twice NAT.
    #[default(false)]
    pub twice_nat: bool,
    /// Whether an end on the inside keeps one outside end for all destinations.
    #[default(MappingMode::EndpointDependent)]
    pub mapping: MappingMode,
    /// Hosts on the outside that may begin sessions to a mapping of endpoint-independent mode.
    #[default(Filtering::EndpointIndependent)]
    pub filtering: Filtering,
}

/// Addresses that a range may have.
const ADDRESSES_MAX: u32 = 1 << 16;

impl NatAddresses {
    /// First and last address.
    pub fn range(&self) -> (u32, u32) {
        (self.first.to_bits(), self.last.unwrap_or(self.first).to_bits())
    }
    /// All addresses.
    pub fn all(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, last) = self.range();
        first..=last
    }
}

/// Checks that only mappings are filtered.
fn check_filtering(mapping: MappingMode, filtering: Filtering) -> Result<(), ObjectError> {
    match (mapping, filtering) {
        (MappingMode::EndpointIndependent, _) | (_, Filtering::EndpointIndependent) => Ok(()),
        _ => {
            let error = ObjectError::field("filtering", "in endpoint-dependent mode there is nothing to filter");
            Err(error.remedy("leave it out, or write mapping: endpoint-independent"))
        }
    }
}

/// Checks an interface whose address is of the pool.
pub(crate) fn check_interface_address(own: &NatInterfaceAddress) -> Result<(), ObjectError> {
    check_filtering(own.mapping, own.filtering)
}

/// Checks a range.
pub(crate) fn check_addresses(addresses: &NatAddresses) -> Result<(), ObjectError> {
    check_filtering(addresses.mapping, addresses.filtering)?;
    let (first, last) = addresses.range();
    let swapped = || format!("it is before {}", addresses.first);
    match last.checked_sub(first) {
        None => Err(ObjectError::field("last", swapped()).remedy("write the lower address as `first`")),
        Some(more) if more >= ADDRESSES_MAX => {
            let what = format!("there are {} addresses", u64::from(more) + 1);
            Err(ObjectError::field("last", what).remedy(format!("give at most {ADDRESSES_MAX} in a range")))
        }
        Some(_) => Ok(()),
    }
}

/// An interface whose first IPv4 address is one to which hosts on the inside are translated.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nat44-interface-addresses")]
pub struct NatInterfaceAddress {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether it is for clients from the outside, of mappings with twice NAT.
    #[default(false)]
    pub twice_nat: bool,
    /// Whether an end on the inside keeps one outside end for all destinations.
    #[default(MappingMode::EndpointDependent)]
    pub mapping: MappingMode,
    /// Hosts on the outside that may begin sessions to a mapping of endpoint-independent mode.
    #[default(Filtering::EndpointIndependent)]
    pub filtering: Filtering,
}

quiver_control::choice! {
    /// Protocol of a static mapping.
    pub enum MappedProtocol {
        /// All, with all ports: addresses are mapped.
        Any = "any",
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
        /// ICMP; ports are identifiers of echoes.
        Icmp = "icmp",
    } as "nat-protocol", "any, tcp, udp or icmp";
}

impl MappedProtocol {
    /// IP protocol number; 0 of all.
    pub fn number(self) -> u8 {
        match self {
            MappedProtocol::Any => 0,
            MappedProtocol::Icmp => 1,
            MappedProtocol::Tcp => 6,
            MappedProtocol::Udp => 17,
        }
    }
    /// The protocol of a number.
    pub fn of(number: u8) -> Option<MappedProtocol> {
        let all = [MappedProtocol::Any, MappedProtocol::Icmp, MappedProtocol::Tcp, MappedProtocol::Udp];
        all.into_iter().find(|protocol| protocol.number() == number)
    }
}

/// Outside address of a mapping: an address, or the first one of an interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum External {
    /// An address.
    Address(Ipv4Addr),
    /// The first address of an interface.
    Interface(InterfaceName),
}

impl fmt::Display for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            External::Address(address) => fmt::Display::fmt(address, f),
            External::Interface(interface) => fmt::Display::fmt(interface, f),
        }
    }
}

impl Field for External {
    fn read(value: &Value, problems: &mut Problems) -> Option<External> {
        let text = <String as Field>::read(value, problems)?;
        Some(text.parse().map_or_else(|_| External::Interface(InterfaceName(text)), External::Address))
    }
    fn write(&self) -> Value {
        Value::String(self.to_string())
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        if let External::Interface(interface) = self {
            interface.references(at, found);
        }
    }
    fn expected() -> String {
        "an IPv4 address, or the name of an interface".into()
    }
    fn schema() -> Value {
        <String as Scalar>::schema()
    }
}

/// A host of a mapping that spreads sessions.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Backend {
    /// Address of the host on the inside.
    pub address: Ipv4Addr,
    /// Port of the host on the inside.
    pub port: u16,
    /// Share of new sessions, relative to those of the others.
    #[default(1)]
    pub weight: u8,
    /// Table of the host.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<V4>,
}

/// Static mapping: an outside address, or a port of it, leads to a host on the inside.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "nat44-static-mappings")]
pub struct NatMapping {
    /// Outside address, or the interface whose first address it is.
    #[key]
    pub external: External,
    /// Protocol; `any` maps the address with all ports.
    #[key]
    pub protocol: MappedProtocol,
    /// Outside port; 0 with protocol `any`.
    #[key]
    pub external_port: u16,
    /// Address of the host. Left out with `backends`, and of an identity mapping, whose address and port stay as they are.
    pub local: Option<Ipv4Addr>,
    /// Port of the host. Default: the outside port.
    pub local_port: Option<u16>,
    /// Hosts over which sessions are spread, in place of `local`.
    #[default(vec![])]
    pub backends: Vec<Backend>,
    /// Seconds for which a client is sent to the same host. Default: each session is spread by itself. All values mean for good: the client's
    /// address determines the host.
    pub affinity: Option<u32>,
    /// Table of the host.
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<V4>,
    /// Whether clients' addresses are translated, too: to one of `nat44-addresses` with `twice-nat`.
    #[default(TwiceNat::Off)]
    pub twice_nat: TwiceNat,
    /// Whether it holds only for sessions that clients begin.
    #[default(false)]
    pub inbound_only: bool,
    /// Tag for the owner of the mapping.
    pub tag: Option<String>,
}

impl NatMapping {
    /// Whether address and port stay as they are.
    pub fn is_identity(&self) -> bool {
        self.local.is_none() && self.backends.is_empty()
    }
    /// Whether it spreads sessions.
    pub fn is_balancing(&self) -> bool {
        !self.backends.is_empty()
    }
}

/// Checks a mapping.
pub(crate) fn check_mapping(mapping: &NatMapping) -> Result<(), ObjectError> {
    let is_of_address = mapping.protocol == MappedProtocol::Any;
    let no_ports = |field: &str| {
        ObjectError::field(field, "protocol any maps all ports").remedy("leave it out, or name a protocol")
    };
    match is_of_address {
        true if mapping.external_port != 0 => return Err(no_ports("external-port")),
        true if mapping.local_port.is_some() => return Err(no_ports("local-port")),
        true if mapping.is_balancing() => return Err(no_ports("backends")),
        false if mapping.external_port == 0 => {
            return Err(ObjectError::field("external-port", "it is 0").remedy("give a port, or protocol any"));
        }
        _ => {}
    }
    if mapping.is_balancing() && (mapping.local.is_some() || mapping.local_port.is_some()) {
        return Err(ObjectError::field("local", "there are backends, too").remedy("give either"));
    }
    if mapping.is_balancing() && mapping.backends.iter().all(|backend| backend.weight == 0) {
        return Err(ObjectError::field("backends", "all have weight 0").remedy("give one a weight"));
    }
    Ok(())
}

//! Configuration: bridge domains, layer-2 interfaces, static addresses.

use std::net::IpAddr;

use quiver_control::{Control, Object, ObjectError};
use quiver_interface::InterfaceName;
use quiver_wire::UnicastMac;

quiver_control::reference! {
    /// The number of a bridge domain.
    pub struct DomainId(u32) in "bridge-domains", "the number of a bridge domain";
}

quiver_control::reference! {
    /// The name of an interface of layer 2.
    pub struct MemberName(String) in "layer2-interfaces", "the name of an interface of layer 2";
}

/// Bridge domain: interfaces that form one broadcast domain.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-domains")]
pub struct BridgeDomain {
    /// Bridge domain id in commands.
    #[key]
    pub id: u32,
    /// Whether source MAC addresses are learned.
    #[default(true)]
    pub learn: bool,
    /// Whether frames to known MAC addresses are forwarded to their interface only.
    #[default(true)]
    pub forward: bool,
    /// Whether frames to unknown unicast addresses are flooded.
    #[default(true)]
    pub uu_flood: bool,
    /// Whether multicast and broadcast frames are flooded.
    #[default(true)]
    pub flood: bool,
    /// Whether the domain answers ARP requests and neighbor solicitations for its hosts instead of flooding them.
    #[default(false)]
    pub arp_term: bool,
    /// Minutes without traffic after which a learned MAC address expires; 0 disables aging.
    #[default(0)]
    pub mac_age: u8,
    /// Largest number of learned MAC addresses.
    #[default(1_000_000)]
    pub learn_limit: u32,
    /// Tag for the owner of the bridge domain.
    pub tag: Option<String>,
}

/// Defaults of bridge domains that are created later.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-domain-defaults")]
pub struct BridgeDefaults {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Largest number of learned MAC addresses.
    #[default(1_000_000)]
    pub learn_limit: u32,
}

impl BridgeDefaults {
    /// The only name.
    pub const NAME: &str = "default";
}

impl BridgeDomain {
    /// A domain with the defaults that are configured.
    pub fn with_defaults(control: &Control, id: u32) -> BridgeDomain {
        let mut domain = BridgeDomain::new(id);
        if let Some(defaults) = control.objects().get::<BridgeDefaults>(&BridgeDefaults::NAME.to_owned()) {
            domain.learn_limit = defaults.learn_limit;
        }
        domain
    }
}

/// Interface in layer-2 mode: a member of a bridge domain, or one end of a cross-connect.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "layer2-interfaces")]
pub struct Layer2Interface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Bridge domain of the interface.
    #[fixed]
    pub domain: Option<DomainId>,
    /// Whether it is the bridge virtual interface (BVI), which connects the domain to layer 3.
    #[fixed]
    #[default(false)]
    pub bvi: bool,
    /// Whether it alone receives the domain's frames to unknown unicast addresses, and no other frames.
    #[fixed]
    #[default(false)]
    pub uu_forward: bool,
    /// Split-horizon group. Members of one group other than 0 do not forward to each other.
    #[default(0)]
    pub group: u8,
    /// Interface that transmits all frames received here (cross-connect), in place of a bridge domain.
    #[fixed]
    pub connect: Option<InterfaceName>,
    /// Whether MAC addresses are learned from frames received here, if the domain learns.
    #[default(true)]
    pub learn: bool,
    /// Whether frames received here go to known MAC addresses only at their interface, if the domain forwards.
    #[default(true)]
    pub forward: bool,
    /// Whether multicast and broadcast frames received here are flooded, if the domain floods.
    #[default(true)]
    pub flood: bool,
    /// Whether frames received here to unknown unicast addresses are flooded, if the domain floods them.
    #[default(true)]
    pub uu_flood: bool,
    /// Whether the interface transmits nothing because a spanning tree blocks it.
    #[default(false)]
    pub stp_blocked: bool,
    /// Whether the interface transmits nothing because its line is down.
    #[default(false)]
    pub line_down: bool,
}

/// Static MAC table entry of a bridge domain.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "static-macs")]
pub struct StaticMac {
    /// Id of the bridge domain.
    #[key]
    pub domain: DomainId,
    /// MAC address of the entry.
    #[key]
    pub mac: UnicastMac,
    /// Member behind which the address is. Without it, frames to the address are dropped.
    pub interface: Option<MemberName>,
}

/// Host for which a bridge domain with `arp-term` answers ARP requests or neighbor solicitations.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-hosts")]
pub struct BridgeHost {
    /// Id of the bridge domain.
    #[key]
    pub domain: DomainId,
    /// IPv4 or IPv6 address of the host.
    #[key]
    pub address: IpAddr,
    /// MAC address of the host.
    pub mac: UnicastMac,
}

/// VPP's limit, which leaves room for numbers of VXLAN and the like.
pub(crate) const DOMAIN_ID_MAX: u32 = 0xff_ffff;

pub(crate) fn check_domain(domain: &BridgeDomain) -> Result<(), ObjectError> {
    match domain.id {
        1..=DOMAIN_ID_MAX => Ok(()),
        other => Err(ObjectError::field("id", format!("{other} cannot be the number of a domain"))
            .remedy(format!("choose one from 1 to {DOMAIN_ID_MAX}"))),
    }
}

pub(crate) fn check_defaults(defaults: &BridgeDefaults) -> Result<(), ObjectError> {
    match defaults.name.as_str() {
        BridgeDefaults::NAME => Ok(()),
        other => Err(ObjectError::field("name", format!("there are no defaults '{other}'"))
            .remedy(format!("call them '{}'", BridgeDefaults::NAME))),
    }
}

pub(crate) fn check_interface(interface: &Layer2Interface) -> Result<(), ObjectError> {
    match (&interface.domain, &interface.connect) {
        (Some(_), None) if interface.bvi && interface.uu_forward => {
            let what = "the virtual interface of a domain is no place for frames to unknown addresses";
            Err(ObjectError::field("uu-forward", what).remedy("choose another member"))
        }
        (Some(_), None) => Ok(()),
        (None, Some(peer)) if *peer == interface.interface => {
            Err(ObjectError::field("connect", "an interface cannot be connected with itself")
                .remedy("name another interface"))
        }
        (None, Some(_)) if interface.bvi || interface.uu_forward || interface.group != 0 => {
            let field = match interface {
                Layer2Interface { bvi: true, .. } => "bvi",
                Layer2Interface { uu_forward: true, .. } => "uu-forward",
                _ => "group",
            };
            Err(ObjectError::field(field, "this is for members of a bridge domain").remedy("leave it out"))
        }
        (None, Some(_)) => Ok(()),
        _ => Err(ObjectError::whole("an interface of layer 2 has either a domain or a peer")
            .remedy("give one of 'domain' and 'connect'")),
    }
}

pub(crate) fn check_host(host: &BridgeHost) -> Result<(), ObjectError> {
    match host.address.is_unspecified() || host.address.is_multicast() {
        true => Err(ObjectError::field("address", format!("{} is no host's address", host.address))
            .remedy("give a unicast address")),
        false => Ok(()),
    }
}

//! What is configured: bridge domains, interfaces of layer 2, static addresses.

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

/// A bridge domain: interfaces that form one broadcast domain.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-domains")]
pub struct BridgeDomain {
    /// The number by which commands name it.
    #[key]
    pub id: u32,
    /// Whether source addresses are learned.
    #[default(true)]
    pub learn: bool,
    /// Whether frames to known addresses go to their interface only.
    #[default(true)]
    pub forward: bool,
    /// Whether frames to unknown addresses go to all members.
    #[default(true)]
    pub uu_flood: bool,
    /// Whether frames to groups go to all members.
    #[default(true)]
    pub flood: bool,
    /// Whether ARP requests and neighbour solicitations for the domain's hosts are answered, in place of being flooded.
    #[default(false)]
    pub arp_term: bool,
    /// Minutes after which an address that was not seen is forgotten; 0 keeps them.
    #[default(0)]
    pub mac_age: u8,
    /// Addresses that are learned at most.
    #[default(1_000_000)]
    pub learn_limit: u32,
    /// What its owner calls it.
    pub tag: Option<String>,
}

/// What bridge domains that are made from then on have.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-domain-defaults")]
pub struct BridgeDefaults {
    /// `default`, which is all there is.
    #[key]
    pub name: String,
    /// Addresses that are learned at most.
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

/// An interface of layer 2: a member of a bridge domain, or an end of a cross-connect.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "layer2-interfaces")]
pub struct Layer2Interface {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The bridge domain that it is a member of.
    #[fixed]
    pub domain: Option<DomainId>,
    /// Whether it is the virtual interface through which the domain meets layer 3.
    #[fixed]
    #[default(false)]
    pub bvi: bool,
    /// Whether it gets the domain's frames to unknown addresses, instead of all members, and no others.
    #[fixed]
    #[default(false)]
    pub uu_forward: bool,
    /// Its split-horizon group: members of one group, other than 0, send nothing to each other.
    #[default(0)]
    pub group: u8,
    /// The interface by which everything leaves that is received, instead of a domain.
    #[fixed]
    pub connect: Option<InterfaceName>,
    /// Whether addresses are learned of what it receives, as far as the domain learns.
    #[default(true)]
    pub learn: bool,
    /// Whether what it receives goes to known addresses only where these are, as far as the domain does that.
    #[default(true)]
    pub forward: bool,
    /// Whether what it receives for groups goes to all members, as far as the domain does that.
    #[default(true)]
    pub flood: bool,
    /// Whether what it receives for unknown addresses goes to all members, as far as the domain does that.
    #[default(true)]
    pub uu_flood: bool,
    /// Whether nothing leaves by it, to break a circle.
    #[default(false)]
    pub stp_blocked: bool,
    /// Whether nothing leaves by it, since its line counts as down.
    #[default(false)]
    pub line_down: bool,
}

/// An address that is not learned but said.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "static-macs")]
pub struct StaticMac {
    /// The bridge domain.
    #[key]
    pub domain: DomainId,
    /// The address.
    #[key]
    pub mac: UnicastMac,
    /// The member behind which it is; without one, frames to it are dropped.
    pub interface: Option<MemberName>,
}

/// A host of a bridge domain: who asks for its address is answered by the domain, where that terminates ARP.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "bridge-hosts")]
pub struct BridgeHost {
    /// The bridge domain.
    #[key]
    pub domain: DomainId,
    /// Its address of layer 3, IPv4 or IPv6.
    #[key]
    pub address: IpAddr,
    /// Its address of hardware.
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
        true => Err(ObjectError::field("address", format!("{} is nobody's", host.address)).remedy("give a host's")),
        false => Ok(()),
    }
}

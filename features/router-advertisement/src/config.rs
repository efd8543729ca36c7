//! Configuration of router advertisements.

use quiver_control::{Control, Object, ObjectError};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces, LOCAL};
use quiver_wire::{InterfaceAddress, V6};

/// Prefixes of an interface at most: as many as an advertisement that every link takes has room for, behind its own 16 bytes
/// and two options of 8 bytes (RFC 8200, 5; RFC 4861, 4.2).
pub const PREFIXES_MAX: usize = (1280 - 40 - 16 - 16) / 32;
/// Seconds for which a prefix is valid if nothing else is said (RFC 4861, 6.2.1).
pub const VALID: u32 = 2_592_000;
/// Seconds for which addresses made of it are preferred if nothing else is said (RFC 4861, 6.2.1).
pub const PREFERRED: u32 = 604_800;
/// A lifetime without an end (RFC 4861, 4.6.2).
pub const INFINITE: u32 = u32::MAX;

/// Router advertisements of an interface (RFC 4861, 6.2.1). Times are in seconds.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "router-advertisements")]
pub struct RouterAdvertisements {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether no advertisement is sent. Other fields apply once it ends.
    #[default(false)]
    pub suppress: bool,
    /// Managed flag: hosts get addresses by DHCPv6.
    #[default(false)]
    pub managed: bool,
    /// Other flag: hosts get further settings by DHCPv6.
    #[default(false)]
    pub other: bool,
    /// Longest interval between multicast advertisements, 4 to 1800.
    #[default(200)]
    pub max_interval: u16,
    /// Shortest interval between them, 3 to three quarters of `max-interval`.
    #[default(150)]
    pub min_interval: u16,
    /// Router lifetime: above `max-interval`, at most 9000; 0 if this is no default router.
    #[default(600)]
    pub lifetime: u16,
    /// Hop limit for hosts; 0 leaves it unspecified.
    #[default(64)]
    pub hop_limit: u8,
    /// Number of initial advertisements at shorter intervals, at most 3.
    #[default(3)]
    pub initial_count: u8,
    /// Longest interval between initial advertisements, 1 to 16.
    #[default(16)]
    pub initial_interval: u8,
    /// Whether solicitations are answered by unicast instead of multicast.
    #[default(false)]
    pub send_unicast: bool,
    /// Whether advertisements carry the interface's MAC address.
    #[default(true)]
    pub source_link_layer: bool,
}

/// Prefix in the router advertisements of an interface. Lifetimes are in seconds.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "advertised-prefixes")]
pub struct AdvertisedPrefix {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Prefix with its length; the bits after the length are sent as given.
    #[key]
    pub prefix: InterfaceAddress<V6>,
    /// On-link flag: the prefix is on the link.
    #[default(true)]
    pub on_link: bool,
    /// Autonomous flag: hosts may derive addresses from it (RFC 4862).
    #[default(true)]
    pub autonomous: bool,
    /// Valid lifetime; 4294967295 is infinite.
    #[default(VALID)]
    pub valid: u32,
    /// Preferred lifetime, at most the valid one.
    #[default(PREFERRED)]
    pub preferred: u32,
    /// Whether the prefix is advertised at all.
    #[default(true)]
    pub advertise: bool,
}

/// Checks the fields of advertisements that need no other object (RFC 4861, 6.2.1).
pub(crate) fn check(config: &RouterAdvertisements) -> Result<(), ObjectError> {
    let RouterAdvertisements { max_interval: max, min_interval: min, lifetime, .. } = *config;
    let wrong = |field, what: String, remedy| Err(ObjectError::field(field, what).remedy(remedy));
    if !(4..=1800).contains(&max) {
        return wrong("max-interval", format!("{max} s is out of range"), "give 4 to 1800");
    }
    if min < 3 || 4 * u32::from(min) > 3 * u32::from(max) {
        let what = format!("{min} s is out of range for a max-interval of {max} s");
        return wrong("min-interval", what, "give 3 to three quarters of max-interval");
    }
    if lifetime != 0 && (lifetime <= max || lifetime > 9000) {
        let what = format!("{lifetime} s is out of range for a max-interval of {max} s");
        return wrong("lifetime", what, "give more than max-interval and at most 9000, or 0");
    }
    if config.initial_count > 3 {
        return wrong("initial-count", format!("{} are too many", config.initial_count), "give 0 to 3");
    }
    if !(1..=16).contains(&config.initial_interval) {
        let what = format!("{} s is out of range", config.initial_interval);
        return wrong("initial-interval", what, "give 1 to 16");
    }
    Ok(())
}

/// The same of a prefix (RFC 4861, 4.6.2 and 6.2.1).
pub(crate) fn check_prefix(prefix: &AdvertisedPrefix) -> Result<(), ObjectError> {
    let address = prefix.prefix.address();
    if address.is_multicast() || address.is_unicast_link_local() {
        let what = format!("{} is no prefix that a router tells", prefix.prefix);
        return Err(ObjectError::field("prefix", what).remedy("give one of hosts, not in fe80::/10"));
    }
    if prefix.preferred > prefix.valid {
        let what = format!("{} seconds are more than it is valid", prefix.preferred);
        return Err(ObjectError::field("preferred", what).remedy("give at most as many as for valid"));
    }
    Ok(())
}

/// The interface that an object is about, which has a link.
pub(crate) fn on_link(control: &Control, name: &InterfaceName) -> Result<InterfaceId, ObjectError> {
    match control.room::<Interfaces>().id_of(&name.0)? {
        LOCAL => {
            let what = "local0 neither sends nor receives";
            Err(ObjectError::field("interface", what).remedy("choose another one"))
        }
        id => Ok(id),
    }
}

//! What is configured of router advertisements.

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

/// An interface that tells the hosts on its link of itself, as their router (RFC 4861, 6.2.1). Times are in seconds.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "router-advertisements")]
pub struct RouterAdvertisements {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Whether nothing is sent; what is said here holds when that ends.
    #[default(false)]
    pub suppress: bool,
    /// Whether hosts get addresses by DHCPv6.
    #[default(false)]
    pub managed: bool,
    /// Whether hosts get anything else by DHCPv6.
    #[default(false)]
    pub other: bool,
    /// The longest time between two advertisements to all: 4 to 1800.
    #[default(200)]
    pub max_interval: u16,
    /// The shortest one: 3 to three quarters of the longest.
    #[default(150)]
    pub min_interval: u16,
    /// For how long hosts may use us as their default router: more than the longest interval and at most 9000, or 0 if
    /// they may not.
    #[default(600)]
    pub lifetime: u16,
    /// The hop limit that hosts are to use; 0 says nothing.
    #[default(64)]
    pub hop_limit: u8,
    /// How many advertisements are sent faster in the beginning: at most 3.
    #[default(3)]
    pub initial_count: u8,
    /// The longest time between these: 1 to 16.
    #[default(16)]
    pub initial_interval: u8,
    /// Whether a host that asks is answered alone, not all with it.
    #[default(false)]
    pub send_unicast: bool,
    /// Whether the interface's MAC address is told.
    #[default(true)]
    pub source_link_layer: bool,
}

/// A prefix of which an interface tells the hosts on its link, and for how many seconds it is good for what.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "advertised-prefixes")]
pub struct AdvertisedPrefix {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The prefix; bits behind its length are sent as they are given here.
    #[key]
    pub prefix: InterfaceAddress<V6>,
    /// Whether its addresses are on the link.
    #[default(true)]
    pub on_link: bool,
    /// Whether hosts may make themselves addresses of it (RFC 4862).
    #[default(true)]
    pub autonomous: bool,
    /// For how long that holds; 4294967295 is for ever.
    #[default(VALID)]
    pub valid: u32,
    /// For how long such addresses are preferred to others; not longer.
    #[default(PREFERRED)]
    pub preferred: u32,
    /// Whether it is told at all.
    #[default(true)]
    pub advertise: bool,
}

/// What holds of advertisements whatever else is configured (RFC 4861, 6.2.1).
pub(crate) fn check(config: &RouterAdvertisements) -> Result<(), ObjectError> {
    let RouterAdvertisements { max_interval: max, min_interval: min, lifetime, .. } = *config;
    let wrong = |field, what: String, remedy| Err(ObjectError::field(field, what).remedy(remedy));
    if !(4..=1800).contains(&max) {
        return wrong("max-interval", format!("{max} seconds are too few, or too many"), "give 4 to 1800");
    }
    if min < 3 || 4 * u32::from(min) > 3 * u32::from(max) {
        let what = format!("{min} seconds are too few, or too many beside the longest interval's {max}");
        return wrong("min-interval", what, "give 3 to three quarters of max-interval");
    }
    if lifetime != 0 && (lifetime <= max || lifetime > 9000) {
        let what = format!("{lifetime} seconds are too few beside the longest interval's {max}, or too many");
        return wrong("lifetime", what, "give more than max-interval and at most 9000, or 0");
    }
    if config.initial_count > 3 {
        return wrong("initial-count", format!("{} are too many", config.initial_count), "give 0 to 3");
    }
    if !(1..=16).contains(&config.initial_interval) {
        let what = format!("{} seconds are too few, or too many", config.initial_interval);
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

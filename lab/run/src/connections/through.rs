//! Path between both ends, and the load with the addresses that it has there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_connections::Load;
use quiver_suite::field::{Device, Driver, Feature, Keyword as _, Scale};
use quiver_suite::{Case, Traffic};

use crate::Error;

/// Path of the connections.
#[derive(Clone, Debug)]
pub enum Through {
    /// Nothing: one daemon with both ends, on one core, through memif.
    OneCore,
    /// Nothing: a daemon for each end, each on a core of its own, with memif between.
    TwoCores,
    /// A router.
    Device(Box<Case>),
}

/// A router in the path of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    /// Its kind.
    pub device: Device,
    /// Its links.
    pub driver: Driver,
    /// Its feature beside routing.
    pub feature: Feature,
}

impl Through {
    /// A router for a load. Up to 253 hosts lie in the networks of CSIT's base case; more in networks of a power of two of addresses.
    ///
    /// # Errors
    /// It is no router, or has no such links, or the load is wrong.
    pub fn router(router: Router, words: &str) -> Result<Through, Error> {
        let (load, hosts) = (read(words)?, hosts_of(words)?);
        let (function, frame) = if load.is_ip4() { ("ip4", 64) } else { ("ip6", 78) };
        if hosts > HOSTS_MAX {
            let what = format!("the device has routes to {HOSTS_MAX} hosts: lower hosts, and raise ports");
            return Err(Error::Lacking(what));
        }
        let (device, driver, feature) = (router.device.word(), router.driver.word(), router.feature.word());
        let size = match hosts {
            ..=BASE_HOSTS => String::new(),
            // Half of a scale is for each direction.
            _ => format!(", scale: {}, shape: net", 2 * u64::from(hosts.next_power_of_two())),
        };
        let suite = format!(
            "suites:\n  - {{function: {function}, device: {device}, driver: {driver}, feature: {feature}, frame: {frame}, \
             search: mrr{size}}}\n"
        );
        let cases = quiver_suite::read([("device", suite.as_str())]).map_err(|errors| {
            let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Error::Lacking(format!("{device} by {driver} as a router: {}", told.join("; ")))
        })?;
        let case = cases.into_iter().next().ok_or(Error::Nothing("there is no such case"))?;
        Ok(Through::Device(Box::new(case)))
    }
}

/// A load with the addresses of a device's networks.
pub(super) fn words_for(words: &str, through: &Through) -> Result<String, Error> {
    let words = quiver_connections::load::plain(words);
    let Through::Device(case) = through else { return Ok(words) };
    let [clients, servers] = Traffic::of(case).sides;
    let first = |side: &quiver_suite::Side| {
        let first = side.routes.first().map(|routes| routes.first).ok_or(Error::Nothing("a router has routes"))?;
        // The address of CSIT's base network is no host's.
        let behind = u8::from(case.scale == Scale::Base);
        Ok::<_, Error>(match first {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first) + u32::from(behind)).to_string(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first) + u128::from(behind)).to_string(),
        })
    };
    let (of_clients, of_servers) = (first(&clients)?, first(&servers)?);
    Ok(format!("{words} clients {of_clients} servers {of_servers} hosts {}", hosts_of(&words)?))
}

/// Hosts of CSIT's base network.
const BASE_HOSTS: u32 = 253;
/// Hosts in each direction of the largest scale that suites have.
const HOSTS_MAX: u32 = Scale::ENTRIES_MAX / 2;

/// Hosts of a load through a device: those that it says, itself or by the name of its profile, or those of CSIT's base network.
fn hosts_of(words: &str) -> Result<u32, Error> {
    let load = read(words)?;
    let mut plain = words.split_whitespace();
    let is_said = plain.any(|word| word == "hosts" || word.starts_with("ethip"));
    Ok(if is_said { load.plan.hosts } else { BASE_HOSTS })
}

/// Reads a load.
pub(super) fn read(words: &str) -> Result<Load, Error> {
    Load::parse(words).map_err(|error| Error::Lacking(format!("the load: {error}")))
}

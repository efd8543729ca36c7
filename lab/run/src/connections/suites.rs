//! CSIT's stateful suites by name: plain IPv4, NAT44, SFDP and access lists. Those whose feature no device here has say so.

use quiver_suite::field::Feature;

use super::search::Seek;

/// Hosts of CSIT's suites, with 63 ports each.
const HOSTS: [u32; 5] = [1024, 4096, 16_384, 65_536, 262_144];
const PORTS: u32 = 63;
/// The largest of those of SFDP.
const SFDP_HOSTS_MAX: u32 = 65_536;

/// Searches of each suite, by the end of its name. CSIT has the first two; a soak is the same with PLRsearch.
const SEARCHES: [(&str, Option<Seek>); 3] = [("mrr", None), ("ndrpdr", Some(Seek::NdrPdr)), ("soak", Some(Seek::Soak))];

/// Suites of a feature: the part of the name, transports, the most hosts, and the reason why it cannot be measured.
struct Group {
    feature: &'static str,
    transports: &'static [&'static str],
    hosts_max: u32,
    lacking: Option<&'static str>,
}

const NO_NAT: &str = "no device here translates addresses (NAT44)";
const NO_SFDP: &str = "no device here has session services (SFDP)";

const GROUPS: [Group; 8] = [
    Group { feature: "ip4base", transports: &["tcp", "udp"], hosts_max: 262_144, lacking: None },
    Group { feature: "nat44ed", transports: &["tcp", "udp"], hosts_max: 262_144, lacking: Some(NO_NAT) },
    Group { feature: "nat44det", transports: &["udp"], hosts_max: 262_144, lacking: Some(NO_NAT) },
    Group { feature: "sfdp-ip4", transports: &["tcp", "udp"], hosts_max: SFDP_HOSTS_MAX, lacking: Some(NO_SFDP) },
    Group { feature: "sfdp-l4ip4", transports: &["tcp", "udp"], hosts_max: SFDP_HOSTS_MAX, lacking: Some(NO_SFDP) },
    Group { feature: "sfdp-natip4", transports: &["tcp", "udp"], hosts_max: SFDP_HOSTS_MAX, lacking: Some(NO_SFDP) },
    Group { feature: "sfdp-natl4ip4", transports: &["tcp", "udp"], hosts_max: SFDP_HOSTS_MAX, lacking: Some(NO_SFDP) },
    Group {
        feature: "sfdptcp-ip4base",
        transports: &["tcp", "udp"],
        hosts_max: SFDP_HOSTS_MAX,
        lacking: Some(NO_SFDP),
    },
];

/// Rules of access lists that no packet matches, and the features of lists without and with sessions.
const LISTS: [(u8, [Feature; 2]); 3] = [
    (1, [Feature::Acl1, Feature::Acl1Sessions]),
    (10, [Feature::Acl10, Feature::Acl10Sessions]),
    (50, [Feature::Acl50, Feature::Acl50Sessions]),
];
/// Flows of suites with access lists: their word, hosts, and ports of each.
const FLOWS: [(&str, u32, u32); 3] = [("100", 10, 10), ("10k", 100, 100), ("100k", 250, 400)];

/// A suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name: `ethip4tcp-ip4base-h1024-p63-s64512-cps-ndrpdr`.
    pub name: String,
    /// The load.
    pub words: String,
    /// The device's feature beside routing.
    pub feature: Feature,
    /// The search; without one the rate without a limit is measured.
    pub seek: Option<Seek>,
    /// The reason why it cannot be measured.
    pub lacking: Option<&'static str>,
}

/// All suites.
pub fn all() -> Vec<Suite> {
    let mut all = vec![];
    for Group { feature, transports, hosts_max, lacking } in &GROUPS {
        let sizes = HOSTS.into_iter().filter(|hosts| hosts <= hosts_max);
        for (transport, hosts) in
            transports.iter().flat_map(|transport| sizes.clone().map(move |size| (transport, size)))
        {
            for (kind, end) in [("cps", ""), ("tput", "-pps")] {
                let name = format!("ethip4{transport}-{feature}-h{hosts}-p{PORTS}-s{}-{kind}", hosts * PORTS);
                let words = format!("profile ethip4{transport}-{hosts}h{end}");
                all.extend(of_each_search(&name, &words, Feature::None, *lacking));
            }
        }
    }
    for (rules, features) in LISTS {
        for (flows, hosts, ports) in FLOWS {
            for (state, feature) in ["sl", "sf"].into_iter().zip(features) {
                let name = format!("ethip4udp-ip4base-iacl{rules}{state}-{flows}flows");
                let words = format!("profile udp-cps hosts {hosts} ports {ports}");
                all.extend(of_each_search(&name, &words, feature, None));
            }
        }
    }
    all
}

fn of_each_search(name: &str, words: &str, feature: Feature, lacking: Option<&'static str>) -> [Suite; SEARCHES.len()] {
    SEARCHES.map(|(end, seek)| Suite { name: format!("{name}-{end}"), words: words.into(), feature, seek, lacking })
}

/// The suite of a name.
pub fn find(name: &str) -> Option<Suite> {
    all().into_iter().find(|suite| suite.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quiver_connections::Load;
    use quiver_suite::field::{Device, Driver, Keyword as _};

    use super::*;
    use crate::connections::{Router, Through};

    #[test]
    fn each_suite_has_a_name_of_its_own_and_a_load() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|suite| &suite.name).collect();
        assert_eq!(names.len(), all.len());
        for suite in &all {
            let load = Load::parse(&suite.words).unwrap_or_else(|error| panic!("{}: {error}", suite.name));
            let sessions = u64::from(load.plan.hosts) * u64::from(load.plan.ports);
            let said = suite.name.split('-').find_map(|part| part.strip_prefix('s')?.parse::<u64>().ok());
            assert!(said.is_none_or(|said| said == sessions), "{}: {sessions}", suite.name);
            if suite.lacking.is_none() {
                let router = Router { device: Device::Quiver, driver: Driver::Memif, feature: suite.feature };
                assert!(Through::router(router, &suite.words).is_ok(), "{}", suite.name);
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let lacking = |name: &str| find(name).unwrap_or_else(|| panic!("{name} is unknown")).lacking;
        for (name, why) in [
            ("ethip4tcp-ip4base-h262144-p63-s16515072-cps-ndrpdr", None),
            ("ethip4udp-ip4base-h1024-p63-s64512-tput-soak", None),
            ("ethip4tcp-nat44ed-h1024-p63-s64512-cps-ndrpdr", Some("(NAT44)")),
            ("ethip4udp-sfdp-l4ip4-h65536-p63-s4128768-tput-ndrpdr", Some("(SFDP)")),
            ("ethip4udp-ip4base-iacl50sf-10kflows-mrr", None),
            ("ethip4udp-ip4base-iacl50sl-10kflows-ndrpdr", None),
        ] {
            assert_eq!(lacking(name).is_some(), why.is_some(), "{name}");
            assert!(lacking(name).unwrap_or_default().contains(why.unwrap_or_default()), "{name}");
        }
        assert_eq!(find("ethip4udp-ip4base-iacl10sl-100flows-mrr").map(|suite| suite.feature.word()), Some("iacl10sl"));
        assert_eq!(find("ethip4tcp-sfdp-ip4-h262144-p63-s16515072-cps-mrr"), None);
    }
}

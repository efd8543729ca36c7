//! Commands for the case's router feature that Quiver and VPP share.

use std::net::IpAddr;

use quiver_suite::field::{Feature, Function};
use quiver_suite::{Case, Side, Traffic};

/// Behind all that makes interfaces, tables and routes. Packets of the two sides come by `ports`.
pub fn commands(case: &Case, traffic: &Traffic, ports: [&str; 2]) -> Vec<String> {
    let family = if case.function == Function::Ip6 { "ip6" } else { "ip4" };
    let check = |mode| ports.map(|port| format!("set urpf {family} rx {mode} {port}")).into();
    match case.feature {
        Feature::UrpfStrict => check("strict"),
        Feature::UrpfLoose => check("loose"),
        Feature::PolicyRouting => {
            let of = |from: usize| policy(from, &traffic.sides[1 - from], [ports[from], ports[1 - from]], family);
            [0, 1].into_iter().flat_map(of).collect()
        }
        Feature::Acl1
        | Feature::Acl10
        | Feature::Acl50
        | Feature::Acl1Sessions
        | Feature::Acl10Sessions
        | Feature::Acl50Sessions => access_list(case, ports),
        Feature::None
        | Feature::RouteCounters
        | Feature::MultiPath
        | Feature::OwnTable
        | Feature::Conntrack
        | Feature::MacSwap => vec![],
    }
}

/// Commands for a list of rules that no packet matches, and one that permits all, on input of both ports.
fn access_list(case: &Case, ports: [&str; 2]) -> Vec<String> {
    let denied = |rule: u8| match case.function {
        Function::Ip6 => format!("deny src 3fff:{rule:x}::/32 proto 17 dport {}", 1000 + u16::from(rule)),
        _ => format!("deny src 30.{rule}.0.0/16 proto 17 dport {}", 1000 + u16::from(rule)),
    };
    let any = if case.function == Function::Ip6 { "::/0" } else { "0.0.0.0/0" };
    let permit = if case.feature.has_sessions() { "permit+reflect" } else { "permit" };
    let rules = (0..case.feature.unmatched_rules().unwrap_or(0)).map(denied).chain([format!("{permit} src {any}")]);
    let list = format!("set acl-plugin acl {}", rules.collect::<Vec<_>>().join(", "));
    let attach = |port| format!("set acl-plugin interface {port} input acl 0");
    [list].into_iter().chain(ports.map(attach)).collect()
}

/// Commands for a list of packets to a side's routes, a policy that sends them to the side's policy next hop, and its
/// attachment. The list gets the next number from 0; the policy has the same.
fn policy(number: usize, to: &Side, [from, by]: [&str; 2], family: &str) -> Vec<String> {
    let (Some((hop, _)), Some((network, length))) = (to.policy_hop, to.network()) else { return vec![] };
    let any = if matches!(hop, IpAddr::V6(_)) { "::/0" } else { "0.0.0.0/0" };
    vec![
        format!("set acl-plugin acl permit src {any} dst {network}/{length}"),
        format!("abf policy add id {number} acl {number} via {hop} {by}"),
        format!("abf attach {family} policy {number} {from}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &str) -> Vec<String> {
        let text = format!("suites:\n  - {{{fields}, driver: memif, frame: 78, search: mrr}}");
        let case = quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite")[0];
        commands(&case, &Traffic::of(&case), ["one", "two"])
    }

    #[test]
    fn both_directions_have_the_feature() {
        assert_eq!(
            told("function: ip4, feature: urpfstrict"),
            ["set urpf ip4 rx strict one", "set urpf ip4 rx strict two"]
        );
        assert_eq!(
            told("function: ip6, feature: urpfloose"),
            ["set urpf ip6 rx loose one", "set urpf ip6 rx loose two"]
        );
        assert_eq!(
            told("function: ip4, feature: abf"),
            [
                "set acl-plugin acl permit src 0.0.0.0/0 dst 20.20.20.0/24",
                "abf policy add id 0 acl 0 via 198.18.2.10 two",
                "abf attach ip4 policy 0 one",
                "set acl-plugin acl permit src 0.0.0.0/0 dst 10.10.10.0/24",
                "abf policy add id 1 acl 1 via 198.18.1.10 one",
                "abf attach ip4 policy 1 two",
            ]
        );
        assert_eq!(
            told("function: ip4, feature: iacl1sl"),
            [
                "set acl-plugin acl deny src 30.0.0.0/16 proto 17 dport 1000, permit src 0.0.0.0/0",
                "set acl-plugin interface one input acl 0",
                "set acl-plugin interface two input acl 0",
            ]
        );
        assert!(told("function: ip4, feature: iacl10sf")[0].ends_with(", permit+reflect src 0.0.0.0/0"));
        let fifty = told("function: ip6, feature: iacl50sl");
        assert_eq!((fifty.len(), fifty[0].matches("deny src 3fff:").count()), (3, 50));
        let six = told("function: ip6, feature: abf, scale: 8");
        assert_eq!(six[0], "set acl-plugin acl permit src ::/0 dst 2200::/126");
        assert!(["none", "ecmp", "vrf"].iter().all(|word| told(&format!("function: ip4, feature: {word}")).is_empty()));
    }
}

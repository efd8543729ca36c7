//! Real programs pass gateways: a firewall of sessions, access lists that reflect, and NAT44 in both modes, by tap and by memif.
//!
//! Hosts inside open all flows. Those that come from the outside unasked are refused.

mod downloads;
mod holes;
mod path_mtu;
mod policy;
mod programs;
mod site;
mod unasked;

use libtest_mimic::Failed;
use quiver_netns::World;
use quiver_testkit::trials::Trial;

use policy::{Mapping, Policy};
use site::{Gateway, Outside};

pub const TRIALS: &[Trial<World>] = &[
    ("programs_pass_a_firewall_of_sessions", sessions),
    ("programs_pass_lists_that_reflect", lists),
    ("programs_pass_endpoint_dependent_nat", dependent),
    ("programs_pass_endpoint_independent_nat", independent),
    ("holes_are_punched_through_endpoint_independent_nat_only", holes::punched),
];

fn sessions(world: &World) -> Result<(), Failed> {
    pass(world, Policy::Sessions)
}

fn lists(world: &World) -> Result<(), Failed> {
    pass(world, Policy::Lists)
}

fn dependent(world: &World) -> Result<(), Failed> {
    pass(world, Policy::Nat(Mapping::Dependent))
}

fn independent(world: &World) -> Result<(), Failed> {
    pass(world, Policy::Nat(Mapping::Independent))
}

/// A gateway with its policy, and all that is behind it.
struct Site {
    outside: Outside,
    gateway: Gateway,
    policy: Policy,
}

/// A program's name, and its run through a gateway.
type Run = (&'static str, fn(&Site) -> Result<(), Failed>);

const PROGRAMS: [Run; 6] = [
    ("iperf3", programs::streams),
    ("path MTU", path_mtu::found),
    ("traceroute", programs::traces),
    ("DNS", programs::names),
    ("FTP", programs::files),
    ("downloads", downloads::whole),
];

/// Builds a gateway, and has all programs run through it. Flows from the outside pass it before it has a policy, and then not.
fn pass(world: &World, policy: Policy) -> Result<(), Failed> {
    let outside = Outside::build(world)?;
    let gateway = Gateway::build(world, &outside, policy.link(), 1)?;
    let site = Site { outside, gateway, policy };
    unasked::pass(&site)?;
    policy.apply(&site.gateway)?;
    unasked::are_refused(&site)?;
    for (name, program) in PROGRAMS {
        program(&site).map_err(|failed| format!("{name}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

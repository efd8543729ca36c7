//! What VPP is told, as its users type it.

use quiver_suite::field::{Buffers, Function, Pace, Word as _};
use quiver_suite::{Routes, Side, Traffic};

use crate::{Job, MTU, Port, ring_size, routes};

/// So many routes a command adds at most. Its main thread does nothing else meanwhile, and a peer of memif that hears nothing for
/// seconds gives the connection up.
const AT_ONCE: u32 = 25_000;

/// One of its two interfaces.
pub struct Interface {
    /// Its name.
    name: String,
    /// The part of it that frames of the case belong to: itself, where they have no tags.
    pub part: String,
}

/// The names of both.
pub fn interfaces(job: &Job<'_>, traffic: &Traffic) -> [Interface; 2] {
    [0, 1].map(|at| {
        let name = match &job.ports[at] {
            Port::Memif { id, .. } => format!("memif{}/{id}", job.socket_number(at)),
            Port::Host { name, .. } => format!("host-{name}"),
            Port::Tap { .. } => format!("tap{at}"),
        };
        let part = traffic.sides[at].tags.first().map_or_else(|| name.clone(), |tag| format!("{name}.{tag}"));
        Interface { name, part }
    })
}

/// All commands, in order.
pub fn all(job: &Job<'_>, traffic: &Traffic, interfaces: &[Interface; 2]) -> Vec<String> {
    let mut commands = vec![];
    for (at, (interface, side)) in interfaces.iter().zip(&traffic.sides).enumerate() {
        make(&mut commands, job, at, interface, side);
    }
    let parts = [&interfaces[0].part, &interfaces[1].part];
    match job.case.function {
        Function::CrossConnect => {
            let [first, second] = parts;
            commands.push(format!("set interface l2 xconnect {first} {second}"));
            commands.push(format!("set interface l2 xconnect {second} {first}"));
        }
        Function::Bridge => {
            commands.push("create bridge-domain 1 learn 1 forward 1 uu-flood 1 flood 1 arp-term 0".to_owned());
            commands.extend(parts.map(|part| format!("set interface l2 bridge {part} 1")));
        }
        Function::Ip4 | Function::Ip6 => {
            for (part, side) in parts.iter().zip(&traffic.sides) {
                commands.push(format!("set interface ip address {part} {}/{}", side.address, side.link_length()));
                if job.case.function == Function::Ip6 {
                    // It is a router that says so from time to time, unless it is told not to.
                    commands.push(format!("ip6 nd {part} ra-suppress"));
                }
                let neighbor = |(hop, station)| format!("set ip neighbor {part} {hop} {station} static");
                commands.extend(side.hops().into_iter().map(neighbor));
                if !routes::are_messages(&side.routes) {
                    commands.extend(side.routes.iter().flat_map(|routes| in_parts(*routes)).map(|of| route(&of, part)));
                }
            }
            return commands;
        }
    }
    for (part, side) in parts.iter().zip(&traffic.sides).filter(|(_, side)| !side.tags.is_empty()) {
        commands.push(format!("set interface l2 tag-rewrite {part} pop {}", side.tags.len()));
    }
    commands
}

/// The same routes, some at once.
fn in_parts(routes: Routes) -> impl Iterator<Item = Routes> {
    let parts = (0..routes.count).step_by(AT_ONCE as usize);
    parts.map(move |from| Routes { first: routes.prefix(from), count: AT_ONCE.min(routes.count - from), ..routes })
}

/// Adds neighbouring routes.
pub fn route(routes: &Routes, interface: &str) -> String {
    let Routes { first, length, count, next_hop, .. } = routes;
    format!("ip route add count {count} {first}/{length} via {next_hop} {interface}")
}

/// Makes an interface, and the part of it that frames belong to.
fn make(commands: &mut Vec<String>, job: &Job<'_>, at: usize, interface: &Interface, side: &Side) {
    let Interface { name, part } = interface;
    match &job.ports[at] {
        Port::Memif { socket, id } => {
            let (number, queues, rings) = (job.socket_number(at), job.cpus.len(), ring_size(job.case.frame));
            let copies = if job.case.buffers == Buffers::ZeroCopy { "" } else { "no-zero-copy" };
            if number == at + 1 {
                commands.push(format!("create memif socket id {number} filename {}", socket.display()));
            }
            commands.push(format!(
                "create interface memif id {id} socket-id {number} slave ring-size {rings} buffer-size 2048 rx-queues \
                 {queues} tx-queues {queues} {copies} hw-addr {}",
                side.gateway
            ));
        }
        Port::Host { name: host, .. } => {
            commands.push(format!("create host-interface name {host} hw-addr {}", side.gateway));
        }
        Port::Tap { namespace, name: host } => {
            let namespace = namespace.path();
            commands.push(format!(
                "create tap id {at} host-ns {namespace} host-if-name {host} host-mtu-size {MTU} num-rx-queues {} hw-addr {}",
                job.cpus.len(),
                side.gateway
            ));
        }
    }
    if job.case.pace != Pace::Own {
        commands.push(format!("set interface rx-mode {name} {}", job.case.pace.word()));
    }
    commands.push(format!("set interface state {name} up"));
    let tags = match &side.tags[..] {
        [] => return,
        [only] => format!("dot1q {only}"),
        [outer, inner, ..] => format!("dot1ad {outer} inner-dot1q {inner}"),
    };
    commands.push(format!("create sub-interfaces {name} {} {tags} exact-match", side.tags[0]));
    commands.push(format!("set interface state {part} up"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_routes_are_added_in_parts_that_follow_each_other() {
        let text = "suites:\n  - {function: ip6, scale: 2m, driver: memif, frame: 78, search: mrr, device: vpp}";
        let case = quiver_suite::read([("test.yaml", text)]).expect("a suite")[0];
        for routes in Traffic::of(&case).sides[1].routes.iter() {
            let mut next = routes.first;
            for part in in_parts(*routes) {
                assert!((1..=AT_ONCE).contains(&part.count) && part.first == next, "{part:?}");
                next = part.prefix(part.count);
            }
            assert_eq!(next, routes.prefix(routes.count));
        }
    }
}

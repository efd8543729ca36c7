//! VPP's configuration, as CLI commands.

use quiver_suite::field::{Buffers, Feature, Function, Keyword as _, Pace};
use quiver_suite::{Case, Routes, Side, Traffic};

use crate::{Job, MTU, Port, features, ring_size, routes};

/// Largest number of routes in one command. VPP's main thread does nothing else meanwhile, and a memif peer that hears
/// nothing for seconds gives up the connection.
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

/// The table of a case's routes, if it is another one than that which is there always.
pub fn table(case: &Case) -> Option<u32> {
    (case.feature == Feature::OwnTable).then_some(routes::TABLE)
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
            let table = table(job.case);
            let family = routes::family(job.case.function);
            commands.extend(table.map(|table| format!("{family} table add {table}")));
            for (part, side) in parts.iter().zip(&traffic.sides) {
                commands.extend(table.map(|table| format!("set interface {family} table {part} {table}")));
                commands.push(format!("set interface ip address {part} {}/{}", side.address, side.link_length()));
                if job.case.function == Function::Ip6 {
                    // It is a router that says so from time to time, unless it is told not to.
                    commands.push(format!("ip6 nd {part} ra-suppress"));
                }
                let neighbor = |(hop, station)| format!("set ip neighbor {part} {hop} {station} static");
                commands.extend(side.hops().into_iter().map(neighbor));
                if !routes::are_messages(&side.routes) {
                    let command = |of| routes::command(&of, side.other_hops.keys().copied(), table, part);
                    commands.extend(side.routes.iter().flat_map(|routes| in_parts(*routes)).map(command));
                }
            }
            commands.extend(features::commands(job.case, traffic, parts.map(String::as_str)));
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

    /// The commands for a case by memif.
    fn told(fields: &str) -> Vec<String> {
        let text = format!("suites:\n  - {{{fields}, device: vpp, driver: memif, frame: 78, search: mrr}}");
        let case = &quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite")[0];
        let ports = [0, 1].map(|id| Port::Memif { socket: "/run/memif".into(), id });
        let (folder, stop) = ("/run".as_ref(), &Default::default());
        let job = Job { case, ports, cpus: vec![1], folder, program: None, site: None, place: (0, 1), stop };
        let traffic = Traffic::of(case);
        all(&job, &traffic, &interfaces(&job, &traffic))
    }

    #[test]
    fn a_table_is_there_before_its_interfaces_and_these_before_their_addresses() {
        for (function, family) in [("ip4", "ip"), ("ip6", "ip6")] {
            let told = told(&format!("function: {function}, feature: vrf"));
            let at = |begin: String| told.iter().position(|line| line.starts_with(&begin)).expect(&begin);
            let added = at(format!("{family} table add 1"));
            let bound = at(format!("set interface {family} table memif1/1 1"));
            assert!(added < bound && bound < at("set interface ip address memif1/1 ".into()), "{told:#?}");
            let mut routes = told.iter().filter(|line| line.starts_with("ip route add"));
            assert!(routes.all(|line| line.contains(" table 1 via ")), "{told:#?}");
        }
        assert!(!told("function: ip4, feature: urpfstrict").iter().any(|line| line.contains("table")));
    }

    #[test]
    fn routes_lead_by_all_next_hops() {
        let told = told("function: ip4, feature: ecmp");
        let route =
            told.iter().find(|line| line.starts_with("ip route add count 1 10.10.10.0/24 via")).expect("a route");
        assert_eq!(route.matches(" memif1/0").count(), 8, "{route}");
        let neighbors = told.iter().filter(|line| line.starts_with("set ip neighbor memif1/0"));
        assert!(neighbors.filter_map(|line| line.split(' ').nth(4)).all(|hop| route.contains(&format!("via {hop} "))));
    }

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

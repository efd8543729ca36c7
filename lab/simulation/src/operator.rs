//! Simulated operators: right and wrong commands; configuration files old, new and broken.

use fastrand::Rng;
use quiver_control::protocol::{File, Request};
use quiver_control::transaction::Terms;

use crate::traffic::{NETWORKS, PORTS, TUNNELS, far_mac, tunnel_destination, tunnel_source, vni};

/// A habit of the operators, drawn for each seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Anything.
    Anything,
    /// Removes and adds ports while packets are routed by them.
    Churn,
    /// Changes routes and neighbors again and again.
    Routes,
    /// Adds, removes and redirects tunnels.
    Tunnels,
}

impl Habit {
    /// Draws one.
    pub fn draw(random: &mut Rng) -> Habit {
        match random.u8(0..8) {
            0 | 1 => Habit::Churn,
            2..5 => Habit::Routes,
            5 | 6 => Habit::Tunnels,
            _ => Habit::Anything,
        }
    }
}

/// Commands that every simulated daemon starts with, and commands that are tried after them and may be refused.
pub fn beginning(random: &mut Rng, workers: usize) -> (Vec<String>, Vec<String>) {
    let mut tried = vec![];
    let mut lines: Vec<_> = (0..PORTS).map(|port| create(random, port)).collect();
    lines.extend((0..PORTS).map(|port| format!("set interface state p{port} up")));
    lines.extend(["create bridge-domain 1", "create bridge-domain 2"].map(str::to_owned));
    lines.extend(["ip table add 7", "ip6 table add 7"].map(str::to_owned));
    for port in 0..PORTS {
        if random.u8(0..4) == 0 {
            lines.push(format!("set interface l2 bridge p{port} 1"));
            continue;
        }
        if random.u8(0..3) == 0 {
            lines.extend(["ip", "ip6"].map(|ip| format!("set interface {ip} table p{port} 7")));
        }
        lines.extend([address(port), address6(port)]);
        if random.u8(0..3) == 0 {
            lines.push(format!("set interface mtu {} p{port}", random.u16(1280..3000)));
        }
    }
    for network in 0..NETWORKS {
        lines.extend([route(random, network, "add"), route6(random, network, "add")]);
        if random.bool() {
            lines.push(route_of_any_kind(random, "add"));
        }
    }
    for number in (0..TUNNELS).filter(|_| random.bool()).collect::<Vec<_>>() {
        lines.push(tunnel(random, number, true));
        lines.push(format!("set interface state vxlan_tunnel{number} up"));
        match random.u8(0..4) {
            0 => {
                lines.extend([tunnel_address(number), far_neighbor(number, "add")]);
                // Tunnel 1 leads to a host in network 1, and so into another tunnel.
                let network = if random.bool() { 1 } else { random.u8(0..NETWORKS) };
                tried.push(route_through(network, number, "add"));
            }
            _ => lines.push(format!("set interface l2 bridge vxlan_tunnel{number} 1")),
        }
    }
    if workers > 1 {
        let spread = (0..PORTS).filter(|_| random.bool());
        lines.extend(spread.map(|port| format!("set interface handoff p{port} workers 0-{}", workers - 1)));
    }
    (lines, tried)
}

fn address(port: usize) -> String {
    format!("set interface ip address p{port} 10.{port}.0.1/24")
}

fn address6(port: usize) -> String {
    format!("set interface ip address p{port} 2001:db8:{port}::1/64")
}

/// Words of one of two tables.
fn table(random: &mut Rng) -> &'static str {
    if random.bool() { "table 7" } else { "" }
}

/// A tunnel comes or goes.
fn tunnel(random: &mut Rng, number: usize, comes: bool) -> String {
    let (source, destination) = (tunnel_source(number), tunnel_destination(number));
    let (network, table) = (vni(random), random.choice(["", "", "", "encap-vrf-id 7"]).unwrap_or(""));
    let what = if comes { format!("instance {number} {table}") } else { format!("{table} del") };
    format!("create vxlan tunnel src {source} dst {destination} vni {network} {what}")
}

fn tunnel_address(number: usize) -> String {
    format!("set interface ip address vxlan_tunnel{number} 10.9{number}.0.1/24")
}

/// The host behind a tunnel, which answers nothing.
fn far_neighbor(number: usize, verb: &str) -> String {
    format!("ip neighbor {} vxlan_tunnel{number} 10.9{number}.0.2 {} static", del(verb), far_mac(number))
}

/// A route to a part of a network, and perhaps to the other end of a tunnel.
fn route_through(network: u8, number: usize, verb: &str) -> String {
    format!("ip route {verb} 20.{network}.0.0/17 via 10.9{number}.0.2 vxlan_tunnel{number}")
}

/// Something about tunnels: they come and go with what uses them, lead into bridges, are routed to, and lead into each other.
fn tunnels(random: &mut Rng) -> String {
    let (number, network, domain) = (random.usize(0..TUNNELS), random.u8(0..NETWORKS), random.u8(1..3));
    let verb = if random.u8(0..4) == 0 { "del" } else { "add" };
    match random.u8(0..20) {
        0..4 => tunnel(random, number, true),
        4..7 => tunnel(random, number, false),
        7..10 => format!("set interface state vxlan_tunnel{number} up"),
        10 => format!("set interface state vxlan_tunnel{number} down"),
        11..14 => format!("set interface l2 bridge vxlan_tunnel{number} {domain} {}", random.u8(0..2)),
        14 => format!("set interface l3 vxlan_tunnel{number}"),
        15 => tunnel_address(number),
        16 => far_neighbor(number, verb),
        17 => format!("ip route {verb} 20.{network}.0.0/16 via 10.9{number}.0.2"),
        18 => route_through(network, number, verb),
        _ => random.choice(["show vxlan tunnel", "show ip local", "show udp ports"]).unwrap_or("?").into(),
    }
}

fn route(random: &mut Rng, network: u8, verb: &str) -> String {
    let (port, table) = (random.usize(0..PORTS), table(random));
    format!("ip route {verb} 20.{network}.0.0/16 {table} via 10.{port}.0.2 p{port}")
}

fn route6(random: &mut Rng, network: u8, verb: &str) -> String {
    let (port, table) = (random.usize(0..PORTS), table(random));
    format!("ip route {verb} 2001:db8:f0{network}::/48 {table} via 2001:db8:{port}::2 p{port}")
}

/// An address of the station behind a port.
fn station(six: bool, port: usize) -> String {
    if six { format!("2001:db8:{port}::2") } else { format!("10.{port}.0.2") }
}

/// A way of a route: to a neighbour, to addresses behind others, by a link, by another table, or nowhere.
fn way(random: &mut Rng, six: bool) -> String {
    let (port, network) = (random.usize(0..PORTS), random.u8(0..NETWORKS));
    let far = if six { format!("2001:db8:f0{network}::9") } else { format!("20.{network}.0.9") };
    let by = random.choice(["", "", "next-hop-table 7"]).unwrap_or("?");
    let way = match random.u8(0..12) {
        0..3 => format!("{} p{port}", station(six, port)),
        3..5 => format!("{} {by}", station(six, port)),
        5..8 => format!("{far} {by}"),
        8 => format!("p{port}"),
        9..11 => format!("{}-lookup-in-table {}", if six { "ip6" } else { "ip4" }, random.u8(0..2) * 7),
        _ => random.choice(["drop", "null-send-unreach", "null-send-prohibit"]).unwrap_or("?").into(),
    };
    let share = match random.u8(0..4) {
        0 => format!("weight {}", random.u8(1..9)),
        1 => format!("preference {}", random.u8(0..2)),
        _ => String::new(),
    };
    format!("via {way} {share}")
}

/// A route of any kind comes or goes, or some of its ways: to a network, to a part of it, or to a station.
fn route_of_any_kind(random: &mut Rng, verb: &str) -> String {
    let (six, port, network) = (random.bool(), random.usize(0..PORTS), random.u8(0..NETWORKS));
    let prefix = match (random.u8(0..4), six) {
        (0..2, false) => format!("20.{network}.0.0/16"),
        (0..2, true) => format!("2001:db8:f0{network}::/48"),
        (2, false) => format!("20.{network}.128.0/17"),
        (2, true) => format!("2001:db8:f0{network}::8000/113"),
        (_, six) => format!("{}/{}", station(six, port), if six { 128 } else { 32 }),
    };
    let ways: Vec<_> = (0..random.usize(1..5)).map(|_| way(random, six)).collect();
    let whole = verb == "del" && random.bool();
    format!("ip route {verb} {prefix} {} {}", table(random), if whole { String::new() } else { ways.join(" ") })
}

/// A route comes, goes, or is of another length, in one of two tables and families; or a neighbour.
fn routes(random: &mut Rng) -> String {
    let (port, network, table) = (random.usize(0..PORTS), random.u8(0..NETWORKS), table(random));
    let verb = if random.u8(0..3) == 0 { "del" } else { "add" };
    match random.u8(0..20) {
        0..3 => route(random, network, verb),
        3..6 => route6(random, network, verb),
        6 => format!("ip route {verb} 20.{network}.{}.0/24 {table} via 10.{port}.0.2", random.u8(..)),
        7 => format!("ip route {verb} 2001:db8:f0{network}::{:x}/128 {table} via 2001:db8:{port}::2", random.u16(..)),
        8 => format!("ip neighbor {} p{port} 10.{port}.0.2 02:aa:00:00:00:0{port}", del(verb)),
        9 => format!("ip neighbor {} p{port} 2001:db8:{port}::2 02:aa:00:00:00:0{port}", del(verb)),
        10 => random
            .choice(["clear ip neighbors", "show ip fib", "show ip6 fib", "show ip6 neighbors"])
            .unwrap_or("?")
            .into(),
        11 => format!("ip route del 20.{network}.0.0/16 {table}"),
        _ => route_of_any_kind(random, verb),
    }
}

fn del(verb: &str) -> &str {
    if verb == "del" { verb } else { "" }
}

fn create(random: &mut Rng, port: usize) -> String {
    format!("create simulated-port p{port} rx-queues {}", random.u8(1..3))
}

/// A request. `saved` are configurations that ran before.
pub fn request(random: &mut Rng, habit: Habit, saved: &[String]) -> Request {
    if random.u8(0..10) == 0 && !saved.is_empty() {
        let mut text = saved[random.usize(0..saved.len())].clone();
        if random.bool() {
            text = broken(random, &text);
        }
        // If nobody confirms, the daemon goes back by itself.
        let confirm_within = (random.u8(0..6) == 0).then_some(1);
        let terms = Terms { confirm_within, allow_empty: true, ..Terms::default() };
        let file = File { name: "saved.yaml".into(), text, json: false, terms };
        return if random.u8(0..8) == 0 { Request::Diff(file) } else { Request::Apply(file) };
    }
    if random.u8(0..50) == 0 {
        return Request::Save { json: false, comment: None };
    }
    let line = match habit {
        Habit::Churn if random.u8(0..4) > 0 => churn(random),
        Habit::Routes if random.u8(0..8) > 0 => routes(random),
        Habit::Tunnels if random.u8(0..4) > 0 => tunnels(random),
        _ => line(random),
    };
    Request::Command { line, json: random.bool() }
}

/// A file in which some lines are missing, doubled or changed.
fn broken(random: &mut Rng, text: &str) -> String {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(0..lines.len());
        match random.u8(0..4) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines[at] = lines[at].replace("p1", "p3"),
            _ => lines[at].push_str(random.choice(["x", ":", " 9", "\u{e9}"]).unwrap_or("x")),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n") + "\n"
}

const SHOWS: [&str; 18] = [
    "show interface rx-placement",
    "show interface",
    "show hardware-interfaces",
    "show runtime",
    "show errors",
    "show ip fib",
    "show ip neighbors",
    "show bridge-domain detail",
    "show l2fib all",
    "show adjacency",
    "show threads",
    "show buffers",
    "show chain",
    "show graph",
    "show trace",
    "show mode",
    "show configuration",
    "show punt",
];

/// A port goes, or comes back with what leads to it.
fn churn(random: &mut Rng) -> String {
    let (port, network) = (random.usize(0..PORTS), random.u8(0..NETWORKS));
    match random.u8(0..18) {
        16..18 => tunnels(random),
        0..3 => format!("delete simulated-port p{port}"),
        3..6 => create(random, port),
        6..9 => format!("set interface state p{port} up"),
        9..11 => address(port),
        11 => address6(port),
        12 => format!("ip route add 20.{network}.0.0/16 via 10.{port}.0.2"),
        13 => format!("ip route del 20.{network}.0.0/16"),
        _ => format!("ip route add 20.{network}.0.0/16 via 10.{port}.0.2 p{port}"),
    }
}

fn line(random: &mut Rng) -> String {
    let (port, other) = (random.usize(0..PORTS), random.usize(0..PORTS));
    let (network, domain) = (random.u8(0..NETWORKS), random.u8(1..4));
    let sometimes = |random: &mut Rng, word: &str| if random.u8(0..3) == 0 { word.to_owned() } else { String::new() };
    match random.u8(0..45) {
        42..44 => tunnels(random),
        0 => format!("delete simulated-port p{port}"),
        1..4 => create(random, port),
        4 => format!("set interface state p{port} down"),
        5..9 => format!("set interface state p{port} up"),
        9 | 10 => format!("set interface ip address {} p{port} 10.{port}.0.1/24", sometimes(random, "del")),
        11..14 => {
            let way = if random.u8(0..4) == 0 { String::new() } else { format!("via 10.{other}.0.2 p{other}") };
            let length = random.u8(15..18);
            let verb = if way.is_empty() || random.u8(0..3) == 0 { "del" } else { "add" };
            format!("ip route {verb} 20.{network}.0.0/{length} {way}")
        }
        14 => format!("ip neighbor {} p{port} 10.{port}.0.2 02:aa:00:00:00:0{port} static", sometimes(random, "del")),
        15 => format!("clear ip neighbors {}", sometimes(random, &format!("p{port}"))),
        16 => format!("create bridge-domain {domain} {}", sometimes(random, "del")),
        17..19 => format!("set interface l2 bridge p{port} {domain}"),
        19 => format!("set interface l2 xconnect p{port} p{other}"),
        20..22 => format!("set interface l3 p{port}"),
        22 => format!("l2fib {} 02:aa:00:00:00:0{other} {domain} p{port}", if random.bool() { "add" } else { "del" }),
        23 => random
            .choice(["l2fib flush-mac all", "clear interfaces", "clear trace", "clear errors"])
            .unwrap_or("?")
            .into(),
        24 => "show chain".into(),
        25 => format!("trace add {} 5", random.choice(["simulated-input", "ip4-lookup", "l2-fwd"]).unwrap_or("?")),
        26 => format!("ping 10.{port}.0.2 repeat 2 interval 0.01"),
        27 => format!("set interface l2 bridge p{port} {domain} {}", random.u8(1..3)),
        28 => random.choice(SHOWS).unwrap_or("show version").into(),
        29..32 => {
            let (queue, worker) = (random.u8(0..2), random.u8(0..3));
            format!("set interface rx-placement p{port} queue {queue} worker {worker}")
        }
        32 => {
            let mode = random.choice(["polling", "interrupt", "adaptive"]).unwrap_or("?");
            format!("set interface rx-mode p{port} {mode}")
        }
        33..36 => {
            let workers = random.choice(["workers 0-1", "workers 1", "workers 0-2", "off"]).unwrap_or("?");
            format!("set interface handoff p{port} {workers}")
        }
        36 => match random.u8(0..3) {
            0 => address(port),
            1 => address6(port),
            _ => format!(
                "set interface {} table p{port} {}",
                random.choice(["ip", "ip6"]).unwrap_or("?"),
                random.u8(0..2) * 7
            ),
        },
        37 => format!("set interface mtu {} p{port}", random.u16(1280..3000)),
        38..41 => routes(random),
        41 => random.choice(["rollback 1", "confirm"]).unwrap_or("?").into(),
        _ => {
            let words =
                ["set", "interface", "p9", "show", "10.0.0.300", "ip", "route", "add", "l2", "-1", "\u{1f980}", "del"];
            (0..random.usize(1..6)).filter_map(|_| random.choice(words)).collect::<Vec<_>>().join(" ")
        }
    }
}

//! However much is configured, no answer is made in one turn: each `show` command and each dump of VPP's API is asked for with
//! some objects of each kind, and with twice as many. The memory that is taken in a turn must not grow with their number.
//! Judged by the bytes that are allocated, which depend on no clock of a machine and on no other program. They are the time of the
//! daemons here: turns end after some kilobytes, so one that grows has a step that grows.

use std::alloc::System;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use cap::Cap;
use quiver_compat::{Api, Session};
use quiver_control::protocol::{self, Request, Response};
use quiver_testkit::daemon::{Daemon, Setup};

/// Counts the bytes of all allocations so far.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Objects of each kind: in the first daemon, and in the second one. A table's first 256 rows are written together.
const SIZES: [usize; 2] = [280, 560];
/// Bytes by which the largest turn may grow meanwhile: less than 60 for each object more. Names and numbers become longer.
const GROWTH_MAX: usize = 16 << 10;
/// Answers for which a configuration is read whole, step by step, into lists of all its objects. A list that grows counts as
/// new, though the system moves its pages: this many bytes for each object of all kinds.
const READ_WHOLE: [&str; 2] = ["show differences", "show configuration saved"];
const READ_WHOLE_BYTES: usize = 256;
/// Time of an allocated byte: turns of 1 ms end after 4 KB.
const BYTE_NS: u64 = 250;
/// Kinds of which there are so many.
const KINDS: usize = 43;
/// Streams of the packet generator that there can be.
const STREAMS_MAX: usize = 32;

/// Objects of so many kinds as fit together.
fn configuration(count: usize) -> String {
    let (mut sections, mut text) = (BTreeMap::<&str, Vec<String>>::new(), String::new());
    // The order of sections has no effect.
    let mut add = |kind, object: String| sections.entry(kind).or_default().push(object);
    add("packet-generators", "name: pg0".into());
    for i in 0..count {
        let (high, low) = (i / 250, i % 250);
        let (name, net) = (format!("loop{i}"), format!("10.{high}.{low}"));
        let path = format!("paths: [{{via: {net}.2, interface: {name}}}]");
        add("loopbacks", format!("name: {name}"));
        add("interfaces", format!("name: {name}, state: up, description: one of many, tag: t{i}"));
        add("interface-addresses", format!("interface: {name}, address: {net}.1/24"));
        add("interface-ip6-addresses", format!("interface: {name}, address: 'fd00:{i:x}::1/64'"));
        add("neighbors", format!("interface: {name}, address: {net}.2, mac: '02:00:00:00:{high:02x}:{low:02x}'"));
        add(
            "ip6-neighbors",
            format!("interface: {name}, address: 'fd00:{i:x}::2', mac: '02:00:00:00:{high:02x}:{low:02x}'"),
        );
        add("interface-neighbor-settings", format!("interface: {name}, limit: 100"));
        add("routes", format!("prefix: 100.{high}.{low}.0/24, {path}"));
        add("path-mtus", format!("peer: {net}.2, mtu: 1400"));
        add(
            "multicast-routes",
            format!("group: 232.1.{high}.{low}/32, paths: [{{interface: {name}, flags: [forward]}}]"),
        );
        add("reverse-path-checks", format!("interface: {name}, direction: rx"));
        add("mss-clamps", format!("interface: {name}, mss: 1400"));
        add("acls", format!("id: {i}, rules: [{{action: permit, protocol: 17}}]"));
        add("acl-interfaces", format!("interface: {name}, input: [{i}]"));
        add("acl-ethertypes", format!("interface: {name}, input: [2054]"));
        add("macip-acls", format!("id: {i}, rules: [{{source: {net}.0/24}}]"));
        add("macip-acl-interfaces", format!("interface: {name}, acl: {i}"));
        add("abf-policies", format!("id: {i}, acl: {i}, {path}"));
        add("abf-attachments", format!("interface: {name}, policy: {i}, priority: {}", count - i));
        add("l3-cross-connects", format!("interface: {name}, {path}"));
        add("policers", format!("name: policer{i}, cir: 1000, cb: 1000"));
        add("punts", format!("protocol: 17, port: {}", 10_000 + i));
        add("punt-redirects", format!("interface: {name}, {path}"));
        add("reassemblies", format!("interface: {name}, shallow: true"));
        add("udp-encaps", format!("id: {i}, source: 10.0.0.1, destination: {net}.2, destination-port: 6000"));
        let tunnel = format!("source: 10.0.0.1, destination: {net}.2, vni: {i}");
        add("vxlan-tunnels", format!("name: vxlan_tunnel{i}, {tunnel}"));
        add("geneve-tunnels", format!("name: geneve_tunnel{i}, {tunnel}"));
        let domain = i + 1;
        add("bridge-domains", format!("id: {domain}"));
        add("layer2-interfaces", format!("interface: geneve_tunnel{i}, domain: {domain}"));
        add(
            "static-macs",
            format!("domain: {domain}, mac: '02:00:00:01:{high:02x}:{low:02x}', interface: geneve_tunnel{i}"),
        );
        add("bridge-hosts", format!("domain: {domain}, address: {net}.3, mac: '02:00:00:01:{high:02x}:{low:02x}'"));
        add("arp-proxies", format!("interface: {name}"));
        add("arp-proxy-ranges", format!("table: 0, low: {net}.10, high: {net}.20"));
        add("nd-proxies", format!("interface: {name}"));
        add("nd-proxy-hosts", format!("interface: loop0, address: 'fd00:{i:x}::9'"));
        add("router-advertisements", format!("interface: {name}"));
        add("advertised-prefixes", format!("interface: {name}, prefix: 'fd00:{i:x}::/64'"));
        if i < STREAMS_MAX {
            add("pg-streams", format!("name: stream{i}, interface: pg0"));
        }
        add("pipes", format!("name: pipe{i}"));
    }
    for (kind, objects) in sections {
        text.push_str(&format!("{kind}:\n"));
        for object in objects {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {{{object}}}");
        }
    }
    text
}

fn daemon(count: usize) -> Daemon {
    let setup = Setup { statistics: 1 << 30, rehearses: false, ..Setup::default() };
    let mut daemon = Daemon::new(quiver_scenarios::UNSEEN, setup).expect("the rooms fit together");
    if let Err(error) = daemon.apply("many.yaml", &configuration(count)) {
        panic!("{error}");
    }
    daemon.settle().expect("nothing circles");
    daemon.executor().pass_time_by(|| MEMORY.total_allocated() as u64 * BYTE_NS);
    daemon
}

/// Runs a future, and notes the most bytes that one of its turns took.
async fn measured<F: Future>(task: F, most: Rc<Cell<usize>>) -> F::Output {
    let mut task = pin!(task);
    poll_fn(|context| {
        let before = MEMORY.total_allocated();
        let polled = task.as_mut().poll(context);
        most.set(most.get().max(MEMORY.total_allocated() - before));
        polled
    })
    .await
}

/// The most bytes that a turn of a command took, and how many bytes of text its answer has.
fn command(daemon: &mut Daemon, line: &str, json: bool) -> (usize, usize) {
    let control = daemon.control().clone();
    let (answering, end) = protocol::answer(&control, Request::Command { line: line.into(), json });
    let (most, length) = (Rc::<Cell<usize>>::default(), Rc::<Cell<usize>>::default());
    let count = |length: &Cell<usize>, response: Response| match response {
        Response::Part(part) | Response::Done(part) => length.set(length.get() + part.text.len()),
        // Some words stand with others only.
        Response::Error(_) | Response::Completions { .. } => {}
    };
    let (ended, counted) = (Rc::<RefCell<Option<Response>>>::default(), length.clone());
    control.spawn("answer", {
        let (ended, end) = (ended.clone(), measured(end, most.clone()));
        async move { *ended.borrow_mut() = Some(end.await) }
    });
    daemon.run_task(async move {
        while let Some(part) = answering.part().await {
            count(&counted, part);
        }
    });
    let end = ended.take().unwrap_or_else(|| panic!("{line} has not ended"));
    count(&length, end);
    (most.get(), length.get())
}

/// A message as it goes over the socket.
fn framed(number: u16, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 16];
    message[8..12].copy_from_slice(&(body.len() as u32 + 2).to_be_bytes());
    message.extend(number.to_be_bytes());
    message.extend(body);
    message
}

/// The most bytes that a turn of a client's dump took, and how many bytes its answer has.
fn dump(daemon: &Daemon, name: &str, fields: &[u8]) -> (usize, usize) {
    let mut session = Session::new(daemon.control().clone());
    session.receive(&framed(15, &[&[0; 4][..], b"listed", &[0; 58]].concat()));
    while session.work() || !session.output().is_empty() {
        session.sent(session.output().len());
    }
    let number = daemon.control().room::<Api>().id_of(name).expect("it is a message");
    session.receive(&framed(number, &[&[0; 8], fields].concat()));
    let (mut most, mut length) = (0, 0);
    loop {
        let before = MEMORY.total_allocated();
        let more = session.work();
        most = most.max(MEMORY.total_allocated() - before);
        length += session.output().len();
        if !more && session.output().is_empty() {
            return (most, length);
        }
        session.sent(session.output().len());
    }
}

/// Lines of a command without arguments: with nothing that may be left out, and with each word that may be there.
fn lines(grammar: &str) -> Vec<String> {
    let (mut shortest, mut depth) = (String::new(), 0);
    for letter in grammar.chars() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ if depth == 0 => shortest.push(letter),
            _ => {}
        }
    }
    let shortest = shortest.split_whitespace().collect::<Vec<_>>().join(" ");
    if !shortest.starts_with("show ") || shortest.contains(['<', '(']) {
        return vec![];
    }
    let optional =
        grammar.trim_start_matches(|letter| !"[{".contains(letter)).split([' ', '[', ']', '{', '}', '|', '(', ')']);
    let words = optional.filter(|word| !word.is_empty() && !word.contains(['<', '.']));
    let more: BTreeSet<String> = words.map(|word| format!("{shortest} {word}")).collect();
    [shortest.clone()].into_iter().chain(more).collect()
}

#[test]
fn no_turn_of_an_answer_grows_with_what_is_configured() {
    let mut taken: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for count in SIZES {
        let mut daemon = daemon(count);
        let grammars = daemon.control().commands().list();
        for line in grammars.iter().flat_map(|(grammar, _)| lines(grammar)) {
            // What it does once, such as to register a counter, belongs to no answer.
            command(&mut daemon, &line, false);
            for json in [false, true] {
                let measured = command(&mut daemon, &line, json);
                taken.entry(if json { format!("{line} --json") } else { line.clone() }).or_default().push(measured);
            }
        }
        let names: Vec<String> = {
            let api = daemon.control().room::<Api>();
            let dumps = api.messages().filter(|(_, service)| service.is_some_and(|service| service.details.is_some()));
            dumps.map(|(definition, _)| definition.name.clone()).collect()
        };
        for name in names {
            // Of nothing in particular: zeros; and of all interfaces, whose field is the first one.
            for (of, first) in [("", 0), (" of all", 0xff)] {
                let fields = [vec![first; 4], vec![0; 300]].concat();
                taken.entry(format!("{name}{of}")).or_default().push(dump(&daemon, &name, &fields));
            }
        }
    }
    let mut grown = String::new();
    for (asked, taken) in &taken {
        let [(before, _), (after, length)] = taken[..] else { continue };
        let is_whole = READ_WHOLE.iter().any(|line| asked.starts_with(line));
        let objects = if is_whole { KINDS * (SIZES[1] - SIZES[0]) } else { 0 };
        if after > before + GROWTH_MAX + objects * READ_WHOLE_BYTES {
            let _ = writeln!(grown, "{asked}: {before} and {after} bytes in a turn; {length} bytes in all");
        }
    }
    assert!(grown.is_empty(), "these are made in one turn:\n{grown}");
    // That it was much: of each object there is a line, or a message.
    let length = |asked: &str| taken.get(asked).map_or(0, |taken| taken[1].1);
    for asked in [
        "show vxlan tunnel",
        "show geneve tunnel",
        "show udp encap",
        "show policer",
        "show urpf",
        "show acl-plugin acl",
        "show acl-plugin interface",
        "show acl-plugin ethertypes",
        "show acl-plugin matches",
        "show acl-plugin tables",
        "show acl-plugin macip acl",
        "show abf policy",
        "show abf attach",
        "show l3xc",
        "show interface tcp-mss-clamp",
        "show bridge-domain detail",
        "show bridge-domain arp",
        "show ip pmtu",
        "show fib paths",
        "show arp proxy",
        "show ip6 nd proxy",
        "show ip punt redirect",
        "show punt socket registrations",
        "show ip neighbor-config",
        "show ip6 ra",
        "show interface features",
        "show features",
        "show interface rx-placement",
        "vxlan_tunnel_v2_dump of all",
        "geneve_tunnel_dump of all",
        "udp_encap_dump",
        "policer_dump",
        "urpf_interface_dump of all",
        "acl_dump of all",
        "acl_interface_list_dump of all",
        "acl_interface_etype_whitelist_dump of all",
        "macip_acl_dump of all",
        "macip_acl_interface_list_dump of all",
        "abf_policy_dump",
        "abf_itf_attach_dump",
        "l3xc_dump of all",
        "bridge_domain_dump of all",
        "l2_fib_table_dump of all",
        "ip_neighbor_dump of all",
        "ip_punt_redirect_v2_dump of all",
        "sw_interface_dump of all",
        "proxy_arp_dump",
        "pipe_dump",
    ] {
        assert!(length(asked) > 20 * SIZES[1], "{asked}: {} bytes", length(asked));
    }
}

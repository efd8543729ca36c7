//! Interfaces of every kind with names that people choose, from YAML and from commands.

use libtest_mimic::Failed;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, run, veth};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::trials::Trial;

pub const TRIALS: &[Trial<World>] =
    &[("chosen_names_work_like_numbered_ones", from_yaml), ("commands_take_chosen_names", from_commands)];

const SITE: &str = "\
taps:
- {name: wan, host-namespace: left}
host-interfaces:
- {name: office, namespace: left, host-interface: wire0}
loopbacks:
- {name: lan}
- {name: guests}
pipes:
- {name: to-lab}
memifs:
- {name: to-app, id: 7, role: master}
vxlan-tunnels:
- {name: to-berlin, source: 10.0.0.1, destination: 10.0.0.9, vni: 5}
sub-interfaces:
- {name: wan.10, outer: 10}
interfaces:
- {name: wan, state: up, description: \"uplink to the office, line 7\"}
- {name: wan.10, state: up}
- {name: lan, state: up}
interface-addresses:
- {interface: wan, address: 10.0.0.1/24}
- {interface: wan.10, address: 10.0.10.1/24}
- {interface: lan, address: 10.1.0.1/24}
";

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, is: T, expected: T) -> Result<(), Failed> {
    if is == expected { Ok(()) } else { Err(format!("{what}: {is:?} instead of {expected:?}").into()) }
}

fn names(daemon: &Daemon) -> Vec<String> {
    daemon.control().room::<Interfaces>().iter().skip(1).map(|interface| interface.name.clone()).collect()
}

fn from_yaml(world: &World) -> Result<(), Failed> {
    let left = Namespace::add(world, "left")?;
    veth((&left, "wire0"), (&left, "wire1"), 1500)?;
    let mut daemon = Daemon::new(ROOMS, Setup::default())?;
    daemon.apply("site.yaml", SITE)?;
    let mut all = names(&daemon);
    all.sort();
    let expected =
        ["guests", "lan", "office", "to-app", "to-berlin", "to-lab", "to-lab.0", "to-lab.1", "wan", "wan.10"];
    expect("the interfaces", all, expected.map(str::to_owned).to_vec())?;

    // The Linux side has the chosen name, too, and packets pass.
    left.ip("address add 10.0.0.2/24 dev wan")?;
    let mut ping = left.command("ping");
    ping.args(["-c", "1", "-W", "5", "10.0.0.1"]);
    daemon.run_until(std::thread::spawn(move || run(&mut ping).map(drop)))?;

    // Addresses that are made of names differ.
    let mac = |name: &str| daemon.control().room::<Interfaces>().find(name).map(|interface| interface.mac);
    expect("different addresses", mac("lan") != mac("guests") && mac("lan") != mac("to-berlin"), true)?;

    let shown = daemon.run("show hardware-interfaces wan")?;
    let described = shown.text.lines().any(|line| line.trim() == "Description: uplink to the office, line 7");
    expect(&shown.text, described, true)?;
    let shown = daemon.run("show interface wan")?.json;
    expect("the description", shown[0]["description"].as_str(), Some("uplink to the office, line 7"))?;

    let brief = daemon.run("show interface brief wan lan")?;
    let row = |at: usize, column: &str| brief.json[at][column].as_str().map(str::to_owned);
    expect("a line", (row(0, "name"), row(0, "state")), (Some("wan".into()), Some("up".into())))?;
    expect(&brief.text, brief.text.lines().count(), 3)?;

    // What is saved makes the same again, and nothing differs then.
    let saved = daemon.control().save().text;
    let mut another = Daemon::new(ROOMS, Setup::default())?;
    daemon.apply("empty.yaml", "interfaces: []\n")?;
    expect("what runs of an empty file", names(&daemon), vec![])?;
    drop(daemon);
    another.apply("saved.yaml", &saved)?;
    let again = another.control().save().text;
    expect("what is saved", again.lines().skip(1).collect::<Vec<_>>(), saved.lines().skip(1).collect())
}

fn from_commands(world: &World) -> Result<(), Failed> {
    let left = Namespace::add(world, "left")?;
    veth((&left, "wire0"), (&left, "wire1"), 1500)?;
    let mut daemon = Daemon::new(ROOMS, Setup::default())?;
    for (command, name) in [
        ("create tap if-name wan host-ns left", "wan"),
        ("create host-interface name wire0 netns left if-name office", "office"),
        ("create loopback interface if-name lan", "lan"),
        ("bvi create if-name guests", "guests"),
        ("pipe create if-name to-lab", "to-lab"),
        ("create interface memif id 7 if-name to-app master", "to-app"),
        ("create vxlan tunnel src 10.0.0.1 dst 10.0.0.9 vni 5 if-name to-berlin", "to-berlin"),
        ("create geneve tunnel local 10.0.0.1 remote 10.0.0.9 vni 5 if-name to-rome", "to-rome"),
    ] {
        let said = daemon.run(command).map_err(|error| format!("{command}: {error}"))?;
        expect(command, said.text.trim(), name)?;
        expect(command, names(&daemon).iter().any(|known| known == name), true)?;
    }
    // A second one of the same name, or of the same number where numbers count, is refused by name.
    for (command, part) in [
        ("create tap if-name lan", "there is an interface lan already"),
        ("create interface memif id 7 if-name another master", "to-app has the id 7"),
        ("create loopback interface if-name wan.10", "is no name of an interface"),
        ("create tap if-name a-name-too-long-for-linux", "is no name of a Linux interface"),
    ] {
        let refused = daemon.run(command).err().map(|error| error.to_string()).unwrap_or_default();
        expect(&format!("{command}: {refused}"), refused.contains(part), true)?;
    }
    daemon.configure("create sub-interfaces wan 10\nset interface description wan.10 \"guests of the office\"");
    let shown = daemon.run("show interface wan.10")?.json;
    expect("the description", shown[0]["description"].as_str(), Some("guests of the office"))?;
    daemon.configure("clear interface description wan.10");
    expect("no description", daemon.run("show interface wan.10")?.json[0].get("description").is_none(), true)?;
    for command in [
        "delete tap wan",
        "delete host-interface name wire0",
        "delete loopback interface intfc lan",
        "pipe delete to-lab",
    ] {
        daemon.run(command).map_err(|error| format!("{command}: {error}"))?;
    }
    expect("what is left", names(&daemon), ["guests", "to-app", "to-berlin", "to-rome"].map(str::to_owned).to_vec())
}

//! Testbed files: what is in them, and what is wrong with them, with the place.

use quiver_testbed::{Core, PortKind, PortRef, Reach, Testbed, Topology, read};

const THREE: &str = "\
hosts:
  tg:
    memory-gib: 8
    ports: {left: {interface: eth1}, right: {interface: eth2}}
  dut1:
    ssh: root@192.0.2.7:2222
    programs: {vpp: /opt/vpp/bin/vpp}
    ports: {east: {pci: 0000:3b:00.0}, west: {pci: 0000:3b:00.1}}
  dut2:
    ssh: dut2
    ports: {east: {interface: ens1}, west: {interface: ens2}}
generator: {host: tg, cores: [1, 3]}
devices:
  - {host: dut1, cores: 2-5}
  - {host: dut2, cores: 7}
links:
  - [tg.left, dut1.east]
  - [dut2.west, dut1.west]
  - [dut2.east, tg.right]
";

fn three() -> Testbed {
    read("lab.yaml", THREE).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

#[test]
fn three_nodes_are_a_path_from_the_generator_and_back() {
    let testbed = three();
    assert_eq!(testbed.topology(), Topology::ThreeNode);
    let names: Vec<_> = testbed.hosts().map(|(_, host)| host.name.as_str()).collect();
    assert_eq!(names, ["tg", "dut1", "dut2"]);
    let link = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let end = |end: PortRef| format!("{}.{}", testbed.host(end.host).name, testbed.port(end).name);
    let links: Vec<_> = testbed.links.iter().map(|link| (end(link.from), end(link.to))).collect();
    assert_eq!(links, [link("tg.left", "dut1.east"), link("dut1.west", "dut2.west"), link("dut2.east", "tg.right")]);
    let dut = testbed.host(testbed.devices[0].host);
    assert_eq!(dut.reach, Reach::Ssh { target: "root@192.0.2.7".into(), port: Some(2222), config: None });
    assert_eq!(dut.program("vpp").to_str(), Some("/opt/vpp/bin/vpp"));
    assert_eq!(dut.ports[0].kind, PortKind::Pci("0000:3b:00.0".into()));
    assert_eq!(testbed.devices[0].cores, [2, 3, 4, 5].map(Core));
    assert_eq!(testbed.generator.cores, [1, 3].map(Core));
    assert!(!testbed.shares_cores());
}

#[test]
fn one_and_two_nodes() {
    let one = "hosts: {here: {}}\ngenerator: {host: here, cores: 0}\ndevices: [{host: here, cores: [1]}]\n";
    assert_eq!(read("one.yaml", one).unwrap().topology(), Topology::OneNode);
    let two = THREE
        .replace("  - {host: dut2, cores: 7}\n", "")
        .replace("[dut2.west, dut1.west]\n  - [dut2.east, tg.right]", "[dut1.west, tg.right]");
    assert_eq!(read("two.yaml", &two).unwrap().topology(), Topology::TwoNode);
    let addresses = THREE.replace("ssh: dut2", "ssh: \"root@[2001:db8::7]:22\"");
    let testbed = read("v6.yaml", &addresses).unwrap();
    let target = Reach::Ssh { target: "root@2001:db8::7".into(), port: Some(22), config: None };
    assert_eq!(testbed.host(testbed.devices[1].host).reach, target);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let wrong = [
        (
            "links:",
            "link:",
            "lab.yaml:16:1: 'link' is no field of a testbed; fields are hosts, generator, devices, links",
        ),
        ("host: dut1", "host: dut", "lab.yaml:14:12: host 'dut' is unknown; hosts are tg, dut1, dut2"),
        ("[1, 3]", "[1, 1]", "lab.yaml:12:30: core 1 is here twice; leave it out once"),
        ("2-5", "5-2", "lab.yaml:14:25: '5-2' is no core; give numbers, such as 1, 2-5 or [1, 3]"),
        ("2-5", "[]", "lab.yaml:14:25: no cores; give one core or more"),
        ("memory-gib: 8", "memory-gib: 0", "lab.yaml:3:17: this is no amount of memory; give a number from 1 to 65535"),
        ("3b:00.0", "3b:00", "lab.yaml:8:25: '0000:3b:00' is no pci; give {interface: eth1} or {pci: 0000:3b:00.0}"),
        ("7:2222", "7:ssh", "lab.yaml:6:10: 'root@192.0.2.7:ssh' has no port behind its colon; give user@host, or"),
        ("ssh: dut2", "ssh-config: x", "lab.yaml:10:5: this host is not reached by ssh; give it 'ssh', too"),
        ("ssh: dut2", "ssh: -oProxyCommand=x", "lab.yaml:10:10: '-oProxyCommand=x' is nothing that ssh reaches; give"),
        ("tg.left,", "tg.middle,", "lab.yaml:17:6: port 'tg.middle' is unknown; its ports are: left, right"),
        (
            "[dut2.west, dut1.west]",
            "[dut2.west, tg.right]",
            "lab.yaml:18:5: this link is not the next on the packets' way",
        ),
        (
            "[dut2.west, dut1.west]",
            "[dut2.west, dut1.east]",
            "lab.yaml:18:5: a port has two links; give each link ports",
        ),
        ("  - [dut2.east, tg.right]\n", "", "lab.yaml:17:3: 2 links; give one each for tg to dut1, dut1 to dut2, dut2"),
        ("{host: dut2, cores: 7}", "{host: dut1, cores: 7}", "lab.yaml:14:3: both devices are on one host; give each"),
        ("{host: dut2, cores: 7}", "{host: tg, cores: 3}", "lab.yaml:15:5: core 3 is the generator's; give the device"),
        (
            "generator: {host: tg, cores: [1, 3]}\n",
            "",
            "lab.yaml:1:1: 'generator' is missing; 'generator' is a host and",
        ),
    ];
    for (right, instead, error) in wrong {
        let text = THREE.replace(right, instead);
        let errors: Vec<_> = read("lab.yaml", &text).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(errors.iter().any(|said| said.starts_with(error)), "{error}\n{errors:#?}");
    }
    for text in ["", "[1]", "hosts: 1", "hosts: {a: 1}", ": :", "links: [[[]]]"] {
        assert!(!read("lab.yaml", text).unwrap_err().is_empty(), "{text}");
    }
}

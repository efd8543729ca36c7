//! Fuzz targets of this room: no text makes it panic, and errors point inside it. How to run: fuzz/README.md.

use quiver_testbed::read;

/// A parsed testbed is consistent, and errors point inside the text.
fn check(text: &str) {
    match read("any.yaml", text) {
        Ok(testbed) => {
            let ways = testbed.devices.len() + 1;
            assert!(testbed.links.is_empty() || testbed.links.len() == ways);
            let mut at = testbed.generator.host;
            for link in &testbed.links {
                assert_eq!(link.from.host, at);
                assert!(!testbed.port(link.from).name.is_empty() && !testbed.port(link.to).name.is_empty());
                at = link.to.host;
            }
            assert!(!testbed.shares_cores() && at == testbed.generator.host);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            let lines = text.split(['\n', '\r']).count();
            assert!(errors.iter().all(|error| (1..=lines).contains(&error.at.line)), "{text:?}: {errors:?}");
        }
    }
}

/// Any text is a testbed or errors.
#[test]
fn testbeds() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check(text);
        }
    });
}

/// Testbeds of the fields' own words, right and wrong.
#[test]
fn testbed_sentences() {
    const LINES: [&str; 18] = [
        "hosts:",
        "  here: {}",
        "  tg:",
        "    ports: {left: {interface: eth1}, right: {pci: 0000:3b:00.0}}",
        "  dut:",
        "    ssh: root@192.0.2.7:2222",
        "    ssh-config: config",
        "    memory-gib: 8",
        "    programs: {vpp: /opt/vpp/bin/vpp}",
        "generator: {host: tg, cores: 0-1}",
        "generator: {host: here, cores: 1}",
        "devices:",
        "  - {host: dut, cores: [2, 3]}",
        "devices: [{host: here, cores: 0}]",
        "links:",
        "  - [tg.left, dut.left]",
        "  - [dut.right, tg.right]",
        "links: []",
    ];
    bolero::check!().for_each(|bytes: &[u8]| {
        let lines = bytes.iter().map(|byte| LINES[usize::from(*byte) % LINES.len()]);
        check(&lines.take(30).collect::<Vec<_>>().join("\n"));
    });
}

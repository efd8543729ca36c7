//! `quiver lab run --testbed`: the generator here and devices behind ssh, in network namespaces that stand for hosts. Nothing here
//! judges time.

mod bed;
mod ends;
mod peers;

use std::process::ExitCode;

use bed::{Bed, Form};
use libtest_mimic::{Arguments, Failed, Trial};
use quiver_netns::{Rights, enter_handling_signals, find, rights};
use quiver_result::Document;

/// A test on a testbed.
type Shown = fn(&Bed) -> Result<(), Failed>;

/// Prefixes of tests, and the programs of others that they need.
const PROGRAMS: [(&str, &str); 2] = [("testpmd_", "dpdk-testpmd"), ("vpp_", "vpp")];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share hosts and cores.
    arguments.test_threads = Some(1);
    let trials: [(&str, Shown); 12] = [
        ("a_device_behind_ssh_is_measured_as_one_here", two_nodes),
        ("two_devices_in_a_row_route_what_they_send_each_other", three_nodes),
        ("the_kernel_of_a_host_is_measured_and_left_as_it_was", peers::kernel),
        ("two_kernels_in_a_row_route_what_they_send_each_other", peers::kernels),
        ("testpmd_of_a_host_is_measured_there", peers::testpmd),
        ("vpp_of_a_host_is_measured_there", peers::vpp),
        ("hosts_that_cannot_be_measured_on_are_named", bad_hosts),
        ("a_run_that_is_interrupted_leaves_its_hosts_clean", ends::interrupted),
        ("a_run_that_is_killed_leaves_its_hosts_clean", ends::killed),
        ("a_kernel_is_as_it_was_after_a_run_that_is_killed", ends::killed_kernel),
        ("testpmd_leaves_ports_as_they_were_after_a_run_that_is_killed", ends::killed_testpmd),
        ("a_connection_that_breaks_fails_its_case_and_leaves_nothing", ends::cut),
    ];
    let bed = if arguments.list { Err("only listed".to_owned()) } else { start() };
    if let (Err(reason), false) = (&bed, arguments.list) {
        eprintln!("there are no hosts to measure on, so all is ignored: {reason}");
    }
    let is_ignored = bed.is_err();
    // For the whole program: the world, with all that is in it, ends when this does.
    let bed: Option<&'static Bed> = bed.ok().map(|bed| &*Box::leak(Box::new(bed)));
    let trial = |(name, shown): (&str, Shown)| {
        let run = move || bed.map_or(Ok(()), shown);
        // Which is not there cannot be measured.
        let lacks = PROGRAMS.iter().find(|(of, program)| name.starts_with(of) && find(program).is_none());
        if let Some((_, program)) = lacks {
            eprintln!("{name} is left out: no program {program} in PATH");
        }
        Trial::test(name, run).with_ignored_flag(is_ignored || lacks.is_some())
    };
    libtest_mimic::run(&arguments, trials.into_iter().map(trial).collect()).exit_code()
}

fn start() -> Result<Bed, String> {
    if !matches!(rights(), Rights::Own) {
        return Err("interfaces of this machine are taken by root only".into());
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err("a generator and a device need 2 cores".into());
    }
    let world = enter_handling_signals().map_err(|error| error.to_string())?;
    // From here on nothing is a reason to leave anything out.
    Ok(Bed::start(world).unwrap_or_else(|error| panic!("{:?}", error.message())))
}

/// Checks what every document of a good run has.
fn check(document: &Document, hosts: &[&str], device: &str, counter: &str) -> Result<(), Failed> {
    let said = format!("{document:#?}");
    assert!(document.passed, "{}", document.message);
    assert_eq!(document.hosts, hosts);
    let extension = document.quiver.as_ref().ok_or("what the lab adds")?;
    assert!(!extension.trials.is_empty());
    for trial in &extension.trials {
        assert!(trial.sent_packets > 0 && trial.received_packets > 0, "{said}");
        // What testpmd's packet sockets lose only its own machine tells.
        assert!(device == "testpmd" || !trial.losses.contains_key("unnamed"), "{trial:?}");
        assert!(trial.busy.is_some(), "{trial:?}");
        // What can't be known of another machine is not made up.
        assert!(trial.core_round_trip.is_none() && trial.clock_hz.is_none(), "{trial:?}");
        let energy = format!("{:?}", trial.energy);
        assert!(energy.contains("the sensors of dut1"), "{energy}");
    }
    let told = extension.configuration.get("testbed").ok_or("what the testbed is")?;
    for part in ["device: dut1, Linux ", "link: tg.left (g1) to dut1.east (e1)", "not measured: energy"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for name in std::iter::once(device.to_owned()).chain(hosts.get(2).map(|host| format!("{device} {host}"))) {
        let after = extension.counters_after.get(&name).ok_or("the device's counters")?;
        assert!(after.get(counter).is_some_and(|count| *count > 0), "{name}: {after:?}");
        assert!(extension.versions.contains_key(&name), "{:?}", extension.versions);
    }
    Ok(())
}

/// The document of a case. Where others keep a device off its core for longer than the generator waits for what is late, it
/// runs again, twice at most.
fn measured(bed: &Bed, form: &Form, expression: &str) -> Result<Document, Failed> {
    let mut runs = 0;
    loop {
        let (mut documents, said) = bed.run(&form.file(), expression)?;
        let document = documents.pop().filter(|_| documents.is_empty()).ok_or(said)?;
        runs += 1;
        let trials = document.quiver.as_ref().map_or(&[][..], |extension| &extension.trials);
        if runs == 3 || !trials.iter().any(|trial| trial.losses.contains_key("unnamed")) {
            return Ok(document);
        }
    }
}

fn two_nodes(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    let document = measured(bed, &Form::TWO, "quiver AND eth AND l2xcbase AND 64b AND 1c AND mrr")?;
    check(&document, &["tg", "dut1"], "quiver", "host-e1 rx")?;
    assert_eq!(document.test_name_long, "64b-1c-2n1l-af-packet-eth-l2xcbase-mrr");
    assert!(document.tags.contains(&"2_NODE_SINGLE_LINK_TOPO".to_owned()), "{:?}", document.tags);
    bed.is_clean()?;
    assert_eq!(bed.state()?, before);
    Ok(())
}

fn three_nodes(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    let document = measured(bed, &Form::THREE, "quiver AND eth AND ip4base AND 64b AND 1c AND mrr")?;
    check(&document, &["tg", "dut1", "dut2"], "quiver", "host-e1 rx")?;
    assert_eq!(document.test_name_long, "64b-1c-af-packet-ethip4-ip4base-mrr");
    bed.is_clean()?;
    assert_eq!(bed.state()?, before);
    Ok(())
}

/// Each is told before anything is measured, with host, port and remedy.
fn bad_hosts(bed: &Bed) -> Result<(), Failed> {
    let wrong = [
        (":2222", ":2223", "bed.yaml: dut1 cannot be reached by ssh: ", "refused"),
        (
            "interface: e1",
            "interface: e9",
            "bed.yaml: dut1: there is no interface e9 for port 'east'; its interfaces are: ",
            "w1",
        ),
        (
            "interface: g2",
            "interface: g9",
            "bed.yaml: tg: there is no interface g9 for port 'right'; its interfaces are: ",
            "g1",
        ),
        (
            "interface: w1",
            "pci: \"0000:3b:00.0\"",
            "bed.yaml: dut1: port 'west' is a device on the PCI bus",
            "interface of the kernel",
        ),
        (
            "tg: {",
            "tg: {ssh: root@127.0.0.1, ",
            "bed.yaml: tg: the generator's host is reached by ssh; run this",
            "leave 'ssh' out",
        ),
    ];
    for (right, instead, begin, remedy) in wrong {
        let text = Form::TWO.file().replace(right, instead);
        let said = bed.refused(&text, "l2xcbase AND 64b AND mrr")?;
        assert!(said.contains(begin) && said.contains(remedy), "{begin}: {said}");
    }
    let missing = Form::TWO.file().replacen("ssh-config", "programs: {quiverd: /nonexistent/quiverd}, ssh-config", 1);
    let said = bed.refused(&missing, "quiver AND eth AND l2xcbase AND 64b AND 1c AND mrr")?;
    assert!(said.contains("dut1: there is no program /nonexistent/quiverd; build it"), "{said}");
    // Which cases there are on ports is told by list, too.
    let said = bed.listed("eth AND l2xcbase AND 64b AND 1c AND mrr AND quiver")?;
    assert_eq!(said, "64b-1c-2n1l-af-packet-eth-l2xcbase-mrr\n");
    bed.is_clean()
}

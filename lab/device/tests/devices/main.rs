//! Every device carries real packets for every case that it can do, says what it used and counted, and leaves nothing behind.
//!
//! A device whose program is missing is left out, with the reason.

mod ends;
mod features;
mod hosts;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ends::{Ends, Sender};
use libtest_mimic::{Arguments, Failed, Trial};
use quiver_device::{Device, Error, Job, start};
use quiver_netns::{World, enter, find};
use quiver_stop::Stop;
use quiver_suite::Case;
use quiver_suite::field::{Device as Name, Function, Keyword as _};

/// Cases by memif: devices, and what they do there.
const MEMIF: [(&[Name], &str); 27] = [
    (&[Name::Quiver, Name::Vpp, Name::Testpmd], "function: l2xc, frame: 64"),
    (&[Name::Quiver, Name::Vpp, Name::Testpmd], "function: l2xc, frame: 9000"),
    (&[Name::Testpmd], "function: l2xc, feature: macswap, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: l2xc, encap: dot1q, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: l2xc, encap: dot1ad, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: l2bd, scale: 10k, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, frame: 9000"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, scale: 20, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, scale: 2k, feature: routecount, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, scale: 2k, shape: bgp, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, encap: dot1q, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, encap: dot1ad, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, feature: urpfstrict, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, scale: 2k, feature: urpfloose, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, scale: 8, feature: abf, encap: dot1q, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, feature: ecmp, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip4, feature: vrf, frame: 64"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, frame: 9000"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 20, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 2k, feature: routecount, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 2k, feature: urpfstrict, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, feature: urpfloose, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, feature: abf, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 2k, feature: ecmp, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 2k, shape: bgp, feature: vrf, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, scale: 200k, shape: bgp, frame: 78"),
    (&[Name::Quiver, Name::Vpp], "function: ip6, encap: dot1q, frame: 78"),
];

/// Cases by interfaces of the kernel.
const HOSTS: [(&[Name], &str); 4] = [
    (&[Name::Testpmd], "function: l2xc, frame: 64"),
    (&[Name::Quiver, Name::Vpp, Name::Linux], "function: l2bd, frame: 64"),
    (&[Name::Quiver, Name::Vpp, Name::Linux], "function: ip4, frame: 64"),
    (&[Name::Quiver, Name::Vpp, Name::Linux], "function: ip6, frame: 78"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Devices poll: two at once are in each other's way.
    arguments.test_threads = Some(1);
    let world: &'static World = match enter() {
        Ok(world) => Box::leak(Box::new(world)),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let memif = cases(&MEMIF, "memif").map(|case| trial(case, move || over_memif(&case)));
    let hosts = cases(&HOSTS, "veth").map(|case| trial(case, move || hosts::reach_each_other(world, &case)));
    let own = [
        Trial::test("a program that is missing is named", missing),
        Trial::test("a device that dies says its last words", dies),
        Trial::test("a device that hangs in its start is not waited for when the run is to end", hangs),
        Trial::test("a device does not outlive its value", dropped),
    ];
    libtest_mimic::run(&arguments, memif.chain(hosts).chain(own).collect()).exit_code()
}

/// All cases of a list, joined by a driver.
fn cases(list: &[(&'static [Name], &str)], driver: &str) -> impl Iterator<Item = Case> {
    list.iter().flat_map(move |(devices, fields)| {
        let fields = format!("{fields}, driver: {driver}");
        devices.iter().map(move |device| case(*device, &fields))
    })
}

/// The case of these fields.
fn case(device: Name, fields: &str) -> Case {
    let text = format!("suites:\n  - {{{fields}, device: {}, search: mrr}}", device.word());
    quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite")[0]
}

/// A trial by the case's name, left out where its device's program is missing.
fn trial(case: Case, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    let missing = match case.device {
        // It is built beside the tests of the workspace, not by those of this package alone.
        Name::Quiver => (!has_quiverd()).then_some("quiverd is not built: `cargo build -p quiverd`"),
        Name::Vpp => find("vpp").is_none().then_some("no program vpp in PATH"),
        Name::Testpmd => find("dpdk-testpmd").is_none().then_some("no program dpdk-testpmd: package dpdk-dev"),
        Name::Linux => None,
    };
    if let Some(reason) = missing {
        eprintln!("{} is left out: {reason}", case.name());
    }
    Trial::test(case.name(), run).with_ignored_flag(missing.is_some())
}

fn has_quiverd() -> bool {
    let this = std::env::current_exe().unwrap_or_default();
    this.ancestors().skip(1).take(2).any(|folder| folder.join("quiverd").is_file())
}

/// The last core: the first one is left to the tests.
fn cpus() -> Vec<usize> {
    std::thread::available_parallelism().map(|cores| vec![cores.get() - 1]).unwrap_or_default()
}

fn over_memif(case: &Case) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let ends = Ends::listen(folder.path())?;
    let job = Job {
        case,
        ports: ends.ports(),
        cpus: cpus(),
        folder: folder.path(),
        program: None,
        site: None,
        place: (0, 1),
        stop: &Stop::default(),
    };
    let mut device = start(&job)?;
    let mut wires = ends.connect(&mut *device)?;
    let before = device.usage()?;
    let quiver_suite::field::Frame::Bytes(bytes) = case.frame else { return Err("a case of one size".into()) };
    let length = usize::from(bytes) - 4;
    wires.exchange(case, Sender::Own, length, 40)?;
    let used = device.usage()?.since(&before);
    assert!(!used.cpu.is_zero(), "{used:?}");
    let busy = used.busy.ok_or("what packets cost is known")?;
    // Devices may receive ARP and multicast, too.
    assert!(busy.packets >= 80, "{busy:?}");
    assert!(busy.per_packet().is_some());
    let counters = device.counters()?;
    assert!(counters.values().any(|count| *count >= 40), "{counters:?}");
    features::are_there(case, &mut *device, &mut wires, folder.path(), length)?;
    assert!(!device.version().is_empty() && !device.configuration().is_empty());
    match (case.function, device.grow(1000)) {
        (Function::Ip4 | Function::Ip6, grown) => {
            grown?;
            device.grow(10)?;
            wires.exchange(case, Sender::Own, 100, 40)?;
        }
        (_, Err(Error::Refused { .. })) => {}
        (_, other) => return Err(format!("no routes can be added: {other:?}").into()),
    }
    let id = processes_with(folder.path());
    assert_eq!(id.len(), 1, "one process has to do with the folder");
    device.stop()?;
    assert!(processes_with(folder.path()).is_empty());
    Ok(())
}

/// Processes whose command lines name a folder.
fn processes_with(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.display().to_string();
    let names = |path: &PathBuf| {
        fs::read(path.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(&folder))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    processes.filter(names).collect()
}

fn job_with(case: &Case, program: PathBuf, stop: &Stop) -> Result<Box<dyn Device>, (Error, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let ends = Ends::listen(folder.path()).expect("sockets");
    let job = Job {
        case,
        ports: ends.ports(),
        cpus: cpus(),
        folder: folder.path(),
        program: Some(program),
        site: None,
        place: (0, 1),
        stop,
    };
    start(&job).map_err(|error| (error, folder.path().to_owned()))
}

const CROSS_CONNECT: &str = "function: l2xc, driver: memif, frame: 64";

fn missing() -> Result<(), Failed> {
    for device in [Name::Quiver, Name::Vpp, Name::Testpmd] {
        let (error, _) = job_with(&case(device, CROSS_CONNECT), "/nowhere/at-all".into(), &Stop::default())
            .err()
            .ok_or("it started")?;
        assert!(matches!(&error, Error::Missing { program, .. } if program == "/nowhere/at-all"), "{error}");
    }
    Ok(())
}

/// Its start may take a minute, but a moment only once the run is to end.
fn hangs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("device");
    fs::write(&script, "#!/bin/sh\ntouch \"$0.began\"\nexec sleep 1000\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    for device in [Name::Quiver, Name::Vpp, Name::Testpmd] {
        let (stop, began) = (Stop::default(), folder.path().join("device.began"));
        let (error, heeded) = std::thread::scope(|scope| {
            let started = scope.spawn(|| job_with(&case(device, CROSS_CONNECT), script.clone(), &stop).err());
            while !began.exists() && !started.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(!started.is_finished(), "{device:?} does not wait");
            stop.flag().store(true, Ordering::Relaxed);
            let set = Instant::now();
            (started.join().expect("no panic"), set.elapsed())
        });
        let (error, _) = error.ok_or("it started")?;
        assert!(matches!(&error, Error::NotReady { .. }), "{error}");
        // Far from the twenty seconds that the shortest start may take, on a busy machine, too.
        assert!(heeded < Duration::from_secs(10), "{device:?}: {heeded:?}");
        fs::remove_file(&began)?;
    }
    Ok(())
}

fn dies() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("device");
    fs::write(&script, "#!/bin/sh\necho no luck today\nexit 3\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    for device in [Name::Quiver, Name::Vpp, Name::Testpmd] {
        let (error, _) =
            job_with(&case(device, CROSS_CONNECT), script.clone(), &Stop::default()).err().ok_or("it started")?;
        assert!(error.to_string().contains("no luck today"), "{error}");
        assert!(matches!(&error, Error::Ended { status, .. } if status.code() == Some(3)), "{error}");
    }
    Ok(())
}

fn dropped() -> Result<(), Failed> {
    let case = case(Name::Quiver, CROSS_CONNECT);
    if !has_quiverd() {
        eprintln!("left out: quiverd is not built");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let ends = Ends::listen(folder.path())?;
    let job = Job {
        case: &case,
        ports: ends.ports(),
        cpus: cpus(),
        folder: folder.path(),
        program: None,
        site: None,
        place: (0, 1),
        stop: &Stop::default(),
    };
    let device = start(&job)?;
    assert_eq!(processes_with(folder.path()).len(), 1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _device = device;
        // A panic that says nothing: whoever looks for one in the tests' output finds none that is meant.
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(panicked.is_err());
    assert!(processes_with(folder.path()).is_empty());
    Ok(())
}

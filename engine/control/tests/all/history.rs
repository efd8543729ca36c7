//! The history: what is kept across a crash at any point, and that going back restores what ran exactly.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crate::ports::{self, Lease, Member, Port, PortName, Switch, SwitchId, control};
use proptest::prelude::*;
use quiver_control::transaction::{Memory, Store, Terms, Text, TransactionError, Version};
use quiver_control::{Control, LocalFuture};
use quiver_testkit::executor::Executor;

/// A disk that outlives its daemon, which may stop answering for ever at any of its operations: before or after that
/// one has taken place.
#[derive(Clone, Default)]
struct Disk {
    files: Rc<RefCell<BTreeMap<u64, String>>>,
    operations: Rc<Cell<usize>>,
    crash_at: Option<(usize, bool)>,
    full: Rc<Cell<bool>>,
}

impl Disk {
    fn operate<T: 'static>(&self, operation: impl FnOnce(&mut BTreeMap<u64, String>) -> T) -> LocalFuture<T> {
        let number = self.operations.get();
        self.operations.set(number + 1);
        match self.crash_at {
            Some((at, done)) if number >= at => {
                if number == at && done {
                    operation(&mut self.files.borrow_mut());
                }
                Box::pin(pending())
            }
            _ => Box::pin(ready(operation(&mut self.files.borrow_mut()))),
        }
    }
}

impl Store for Disk {
    fn list(&self) -> LocalFuture<io::Result<Vec<u64>>> {
        self.operate(|files| Ok(files.keys().copied().collect()))
    }
    fn read(&self, number: u64) -> LocalFuture<io::Result<Text>> {
        let text = move |files: &BTreeMap<u64, String>| files.get(&number).cloned().map(Text::from);
        self.operate(move |files| text(files).ok_or_else(|| io::ErrorKind::NotFound.into()))
    }
    fn write(&self, number: u64, head: String, body: Text) -> LocalFuture<io::Result<()>> {
        let text = head + &body;
        if self.full.get() {
            return Box::pin(ready(Err(io::ErrorKind::StorageFull.into())));
        }
        self.operate(move |files| {
            files.insert(number, text);
            Ok(())
        })
    }
    fn remove(&self, number: u64) -> LocalFuture<io::Result<()>> {
        self.operate(move |files| {
            files.remove(&number);
            Ok(())
        })
    }
}

const FIRST: &str = "ports:\n- name: p1\n";
const SECOND: &str = "ports:\n- name: p2\n";

/// A daemon's life: each change notes what runs from then on, and whether it may come back after a crash.
async fn live(control: Control, disk: Disk, safe: Rc<RefCell<Vec<String>>>) -> Result<(), TransactionError> {
    let note = || safe.borrow_mut().push(control.save().text);
    let confirm = Terms { confirm_within: Some(60), ..Terms::default() };
    control.open_history(Rc::new(disk)).await?;
    note();
    control.apply("first", FIRST, Terms::default()).await?;
    note();
    control.put(ports::port("p3")).unwrap();
    note();
    // This version must not be resumed until it is confirmed.
    control.apply("second", SECOND, confirm.clone()).await?;
    control.confirm().await?;
    note();
    control.rollback(1, confirm).await?;
    control.sleep(Duration::from_secs(100)).await;
    control.keep(None).await?;
    control.rollback(3, Terms::default()).await?;
    Ok(())
}

#[test]
fn a_crash_at_any_operation_leaves_a_history_that_is_read_and_a_configuration_that_ran() {
    let whole = Disk::default();
    let (executor, first) = control();
    executor.block_on(live(first, whole.clone(), Rc::default())).unwrap();
    let operations = whole.operations.get();
    assert!(operations > 15, "{operations} operations");
    for crash_at in (0..operations).flat_map(|at| [(at, false), (at, true)]) {
        let disk = Disk { crash_at: Some(crash_at), ..Disk::default() };
        let (executor, dead) = control();
        let safe = Rc::new(RefCell::new(Vec::new()));
        dead.spawn("life", {
            let (dead, disk, safe) = (dead.clone(), disk.clone(), safe.clone());
            // With its disk gone, it gets stuck or is refused.
            async move { drop(live(dead, disk, safe).await) }
        });
        executor.run_for(Duration::from_secs(1000));
        let left = Disk { files: disk.files, ..Disk::default() };
        let (executor, control) = control();
        executor.block_on(control.open_history(Rc::new(left.clone()))).unwrap();
        let resumed = executor.block_on(control.resume()).unwrap();
        let running = control.save().text;
        // The running configuration is the one before the change under way, or its goal: never half of it, and never an
        // unconfirmed one.
        let (safe, what) = (safe.borrow(), resumed.as_ref().map(|version| version.what.clone()).unwrap_or_default());
        let allowed: &[&str] = match safe.len() {
            0 | 1 => &["", "start", "apply first"],
            2 => &["start", "apply first"],
            3 => &[
                "apply first",
                "commands",
                "apply second",
                "rollback to version 3: quiverd ended before 4 was confirmed",
            ],
            _ => &[
                "apply second",
                "rollback to version 4: quiverd ended before 5 was confirmed",
                "rollback to version 4: 5 was not confirmed in time",
                "rollback to version 3",
            ],
        };
        assert!(allowed.contains(&what.as_str()), "crash {crash_at:?} after {} changes: {what}", safe.len());
        if let Some(version) = &resumed {
            let text = executor.block_on(left.read(version.number)).unwrap();
            let (read, configuration) = Version::read(&text).unwrap();
            assert!(read.confirmed, "crash {crash_at:?}: {read:?}");
            assert_eq!(configuration.trim_end(), running, "crash {crash_at:?}");
        }
        // And it goes on: the next change is recorded with a number of its own.
        let before = left.files.borrow().len();
        executor.block_on(control.apply("next", "ports:\n- name: next\n", Terms::default())).unwrap();
        assert!(left.files.borrow().len() > before);
    }
}

#[test]
fn an_unconfirmed_version_does_not_survive_its_daemon() {
    let disk = Disk::default();
    let (executor, control) = ports::control();
    executor.block_on(control.open_history(Rc::new(disk.clone()))).unwrap();
    executor.block_on(control.apply("first", FIRST, Terms::default())).unwrap();
    let before = control.save();
    let confirm = Terms { confirm_within: Some(60), ..Terms::default() };
    executor.block_on(control.apply("second", SECOND, confirm)).unwrap();
    let (executor, control) = ports::control();
    executor.block_on(control.open_history(Rc::new(disk))).unwrap();
    executor.block_on(control.resume()).unwrap();
    assert_eq!(control.save(), before);
    let line = "show history";
    let rows = executor.block_on(control.commands().run(&control, line, &Default::default())).unwrap().json;
    assert_eq!(rows[0]["what"], "rollback to version 2: quiverd ended before 3 was confirmed");
    assert_eq!((&rows[0]["state"], &rows[1]["state"]), (&"saved".into(), &"never confirmed".into()));
}

#[test]
fn what_cannot_be_kept_is_not_done() {
    let disk = Disk::default();
    let (executor, control) = ports::control();
    executor.block_on(control.open_history(Rc::new(disk.clone()))).unwrap();
    executor.block_on(control.apply("first", FIRST, Terms::default())).unwrap();
    let before = control.save();
    disk.full.set(true);
    let refused = executor.block_on(control.apply("second", SECOND, Terms::default())).unwrap_err();
    assert!(refused.to_string().starts_with("the history of the configuration cannot be kept, so nothing was changed"));
    assert_eq!(control.save(), before);
    disk.full.set(false);
    executor.block_on(control.apply("second", SECOND, Terms::default())).unwrap();
}

#[test]
fn fifty_versions_are_kept_and_what_is_no_version_is_left_alone() {
    let disk = Disk::default();
    disk.files.borrow_mut().insert(3, "not a version\n".to_owned());
    let (executor, control) = ports::control();
    executor.block_on(control.open_history(Rc::new(disk.clone()))).unwrap();
    for number in 0..60 {
        let text = format!("ports:\n- {{name: p1, mtu: {}}}\n", 100 + number);
        executor.block_on(control.apply("f", &text, Terms::default())).unwrap();
    }
    let files = disk.files.borrow();
    assert_eq!((files.len(), files.keys().next(), files.keys().last()), (51, Some(&3), Some(&64)));
}

/// A configuration that the rooms of `ports` accept.
fn configuration() -> impl Strategy<Value = (Vec<Port>, Vec<Switch>, Vec<Lease>)> {
    let name = prop_oneof!["[a-z]{1,3}", Just("- #".to_owned()), Just("yes".to_owned()), Just("1e3".to_owned())];
    let port = (name, 64u16.., "[ab]|\\PC{0,4}").prop_map(|(name, mtu, line)| Port { name: PortName(name), mtu, line });
    let ports = prop::collection::btree_map("[a-z]{1,3}", port, 0..6).prop_map(|ports| {
        let unique: BTreeMap<_, _> = ports.into_values().map(|port| (port.name.clone(), port)).collect();
        unique.into_values().collect::<Vec<_>>()
    });
    let switches = prop::collection::btree_map(
        0u32..8,
        (prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), any::<bool>()),
        0..5,
    );
    let leases = prop::collection::btree_set((0u32..3, any::<u32>()), 0..4);
    (ports, switches, leases).prop_map(|(ports, switches, leases)| {
        let mut below = None;
        let switch = |(id, (members, up)): (u32, (Vec<(prop::sample::Index, u8)>, bool))| {
            let member = |(index, group): (prop::sample::Index, u8)| {
                Some(Member { port: ports.get(index.index(ports.len().max(1)))?.name.clone(), group })
            };
            let uplink = below.filter(|_| up).map(SwitchId);
            below = Some(id);
            Switch { id, members: members.into_iter().filter_map(member).collect(), uplink }
        };
        let switches = switches.into_iter().map(switch).collect();
        let leases = leases.into_iter().map(|(pool, address)| Lease::new(pool, address.into())).collect();
        (ports, switches, leases)
    })
}

/// As a file of its own.
fn file((ports, switches, leases): &(Vec<Port>, Vec<Switch>, Vec<Lease>)) -> String {
    let (_, control) = control();
    ports.iter().for_each(|port| control.put(port.clone()).unwrap());
    switches.iter().for_each(|switch| control.put(switch.clone()).unwrap());
    leases.iter().for_each(|lease| control.put(lease.clone()).unwrap());
    control.save().text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever ran, by files and by commands, comes back as it was, from any later state, and so after a restart.
    #[test]
    fn going_back_restores_what_ran(
        configurations in prop::collection::vec((configuration(), any::<bool>()), 1..6),
        back in any::<prop::sample::Index>(),
    ) {
        let (executor, first) = control();
        let disk: Rc<dyn Store> = Rc::new(Memory::default());
        executor.block_on(first.open_history(disk.clone())).unwrap();
        let mut ran = Vec::new();
        for (configuration, by_commands) in &configurations {
            let terms = Terms { allow_empty: true, ..Terms::default() };
            executor.block_on(first.apply("f", &file(configuration), terms)).unwrap();
            if *by_commands {
                first.put(ports::port("by-command")).unwrap();
                executor.block_on(first.keep(None)).unwrap();
            }
            ran.push(first.save());
        }
        let target = back.index(ran.len());
        let texts: Vec<_> = versions(&executor, &*disk);
        let place = texts.iter().position(|text| text.trim_end() == ran[target].text).unwrap();
        executor.block_on(first.rollback(place, Terms::default())).unwrap();
        prop_assert_eq!(&first.save(), &ran[target]);
        let (executor, second) = control();
        executor.block_on(second.open_history(disk)).unwrap();
        executor.block_on(second.resume()).unwrap();
        prop_assert_eq!(&second.save(), &ran[target]);
    }
}

/// The configurations of all versions, newest first.
fn versions(executor: &Executor, disk: &dyn Store) -> Vec<String> {
    let mut numbers = executor.block_on(disk.list()).unwrap();
    numbers.sort_unstable();
    let text = |number: &u64| {
        let text = executor.block_on(disk.read(*number)).unwrap();
        Version::read(&text).unwrap().1.to_owned()
    };
    numbers.iter().rev().map(text).collect()
}

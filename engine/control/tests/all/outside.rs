//! Configurations that are refused by rooms, or for which something outside is missing: the former change nothing, the latter wait.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use quiver_control::config::Scope;
use quiver_control::object::{ObjectRef, StandIn};
use quiver_control::transaction::{Memory, Terms, TransactionError};
use quiver_control::{Change, Control, Kind, Object, ObjectError, Record, reference};
use quiver_testkit::executor::Executor;

reference! {
    /// The name of a device.
    pub struct DeviceName(String) in "device";
}

/// A device: it needs one of its name outside, and takes a plug there.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "devices", provides = "device")]
pub struct Device {
    /// Its name.
    #[key]
    pub name: String,
    /// Its plug.
    #[fixed]
    #[default("none".to_owned())]
    pub plug: String,
}

/// A seat at a device; no two have the same number.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "seats")]
pub struct Seat {
    /// Its name.
    #[key]
    pub name: String,
    /// Its number.
    pub number: u32,
    /// Its device.
    pub device: Option<DeviceName>,
}

/// A way over a device.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Way {
    /// The device.
    pub device: DeviceName,
}

/// Ways over several devices.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "crossings")]
pub struct Crossing {
    /// Its name.
    #[key]
    pub name: String,
    /// Its ways.
    pub ways: Vec<Way>,
    /// A field that can change in place.
    #[default(String::new())]
    pub note: String,
}

/// The outside, which all control sides share.
type There = Rc<RefCell<BTreeSet<String>>>;

/// Changes that a control side's rooms have applied, and the numbers in use.
#[derive(Default)]
struct Room {
    applied: Vec<String>,
    numbers: BTreeMap<u32, String>,
}

fn note<O: Object>(control: &Control, change: Change<'_, O>) -> Result<(), ObjectError> {
    let line = match change {
        Change::Create(object) => format!("+ {}", object.id()),
        Change::Update { new, .. } => format!("~ {}", new.id()),
        Change::Delete(object) => format!("- {}", object.id()),
    };
    control.room_mut::<Room>().applied.push(line);
    Ok(())
}

fn apply_seat(control: &Control, change: Change<'_, Seat>) -> Result<(), ObjectError> {
    let (old, new) = match &change {
        Change::Create(new) => (None, Some(*new)),
        Change::Update { old, new } => (Some(*old), Some(*new)),
        Change::Delete(old) => (Some(*old), None),
    };
    {
        let mut room = control.room_mut::<Room>();
        let taken =
            new.and_then(|new| room.numbers.get(&new.number)).filter(|by| old.is_none_or(|old| **by != old.name));
        if let Some(by) = taken {
            return Err(ObjectError::field("number", format!("{by} has it")));
        }
        old.map(|old| room.numbers.remove(&old.number));
        new.map(|new| room.numbers.insert(new.number, new.name.clone()));
    }
    note(control, change)
}

fn register(control: &Control, there: &There) {
    control.insert_room(Room::default());
    control.objects().add(Kind::new(apply_seat));
    control.objects().add(Kind::new(note::<Crossing>).check(|crossing| match crossing.ways.is_empty() {
        true => Err(ObjectError::field("ways", "there is none")),
        false => Ok(()),
    }));
    let is_there = {
        let there = there.clone();
        move |device: &Device| match there.borrow().contains(&device.name) {
            true => Ok(()),
            false => Err(ObjectError::field("name", "Linux has no such device")),
        }
    };
    let needs = is_there.clone();
    let devices = Kind::new(move |control: &Control, change: Change<'_, Device>| {
        if let Change::Create(device) = &change {
            is_there(device)?;
            if device.plug == "broken" {
                return Err(ObjectError::field("plug", "it is broken"));
            }
        }
        note(control, change)
    });
    control.objects().add(devices.outside(note::<Device>, needs, |device| vec![device.plug.clone()]));
}

fn control(devices: &[&str]) -> (Executor, Control, There) {
    let executor = Executor::new(1);
    let control = executor.control();
    let there: There = Rc::new(RefCell::new(devices.iter().map(|name| (*name).to_owned()).collect()));
    register(&control, &there);
    let of_aside = there.clone();
    control.objects().rehearse_on(move |control| {
        let aside = control.aside();
        register(&aside, &of_aside);
        Box::pin(std::future::ready(Ok(StandIn { control: aside, tidy: |_| () })))
    });
    (executor, control, there)
}

fn apply(executor: &Executor, control: &Control, text: &str) -> Result<String, String> {
    let applied = executor.block_on(control.apply("f.yaml", text, Terms::default()));
    applied.map(|reply| reply.text).map_err(|error| error.to_string())
}

fn plan(executor: &Executor, control: &Control, text: &str) -> Result<String, String> {
    let planned = executor.block_on(control.plan("f.yaml", text, Scope::Whole));
    planned.map(|reply| reply.text).map_err(|error: TransactionError| error.to_string())
}

fn applied(control: &Control) -> Vec<String> {
    std::mem::take(&mut control.room_mut::<Room>().applied)
}

fn show(executor: &Executor, control: &Control, line: &str) -> String {
    executor.block_on(control.commands().run(control, line, &Default::default())).unwrap().text
}

#[test]
fn what_a_room_would_refuse_is_refused_before_the_first_step() {
    let (executor, control, _) = control(&["eth0", "eth1"]);
    apply(&executor, &control, "devices:\n- name: eth0\nseats:\n- {name: a, number: 1}\n").unwrap();
    applied(&control);
    let (changes, before) = (control.changes(), control.save());
    let text =
        "devices:\n- name: eth1\nseats:\n- {name: a, number: 1}\n- {name: b, number: 2}\n- {name: c, number: 2}\n";
    let refused = "f.yaml:6:21: seats c: number: b has it";
    assert_eq!(plan(&executor, &control, text).unwrap_err(), refused);
    assert_eq!(apply(&executor, &control, text).unwrap_err(), refused);
    assert!(applied(&control).is_empty());
    assert_eq!((control.changes(), control.save()), (changes, before));
}

#[test]
fn what_does_not_come_back_as_it_was_goes_last_and_what_may_be_refused_comes_first() {
    let (executor, control, there) = control(&["eth0", "eth1", "eth2"]);
    apply(
        &executor,
        &control,
        "devices:\n- name: eth0\n- {name: eth2, plug: p}\nseats:\n- {name: a, number: 1, device: eth0}\n",
    )
    .unwrap();
    applied(&control);
    let text = |plug: &str| {
        format!("devices:\n- {{name: eth1, plug: {plug}}}\nseats:\n- {{name: b, number: 1, device: eth1}}\n")
    };
    // A rehearsal does not reach outside.
    assert!(apply(&executor, &control, &text("broken")).unwrap_err().contains("it is broken"));
    assert!(applied(&control).is_empty());
    there.borrow_mut().remove("eth1");
    let refused = apply(&executor, &control, &text("p")).unwrap_err();
    assert_eq!(plan(&executor, &control, &text("p")).unwrap_err(), refused);
    assert!(refused.contains("Linux has no such device") && applied(&control).is_empty(), "{refused}");
    there.borrow_mut().insert("eth1".into());
    apply(&executor, &control, &text("q")).unwrap();
    assert_eq!(applied(&control), ["+ devices eth1", "- seats a", "+ seats b", "- devices eth0", "- devices eth2"]);
    // Two have one plug only one after the other.
    apply(&executor, &control, "devices:\n- {name: eth0, plug: q}\n").unwrap();
    assert_eq!(applied(&control), ["- seats b", "- devices eth1", "+ devices eth0"]);
}

#[test]
fn what_cannot_be_rehearsed_is_undone_as_ever() {
    let (executor, control, _) = control(&[]);
    apply(&executor, &control, "seats:\n- {name: a, number: 1}\n").unwrap();
    let before = control.save();
    control.objects().rehearse_on(|_| Box::pin(std::future::ready(Err("no memory".to_owned()))));
    applied(&control);
    let text = "seats:\n- {name: b, number: 2}\n- {name: c, number: 2}\n";
    assert!(apply(&executor, &control, text).unwrap_err().contains("b has it"));
    assert_eq!(control.save(), before);
    assert_eq!(applied(&control), ["- seats a", "+ seats b", "- seats b", "+ seats a"]);
}

/// A device that is missing, one that is there, and what stands on both.
const SITE: &str = "\
seats:
- {name: a, number: 1, device: eth0}
- {name: b, number: 2, device: eth1}
crossings:
- {name: both, ways: [{device: eth0}, {device: eth1}]}
- {name: far, ways: [{device: eth1}]}
devices:
- name: eth0
- name: eth1
";

/// The daemon's saved configuration is [`SITE`]; it starts while these are there.
fn started(devices: &[&str]) -> (Executor, Control, There) {
    let store = Rc::new(Memory::default());
    let (executor, before, _) = control(&["eth0", "eth1"]);
    executor.block_on(before.open_history(store.clone())).unwrap();
    apply(&executor, &before, SITE).unwrap();
    let (executor, control, there) = control(devices);
    executor.block_on(control.open_history(store)).unwrap();
    executor.block_on(control.resume()).unwrap();
    (executor, control, there)
}

#[test]
fn what_is_missing_at_the_start_waits_and_all_else_runs() {
    let (executor, whole, _) = started(&["eth0", "eth1"]);
    let saved = whole.save();
    assert_eq!((whole.pending(), executor.task_names().len()), (0, 0));
    let (executor, control, there) = started(&["eth0"]);
    assert_eq!(applied(&control), ["+ devices eth0", "+ seats a", "+ crossings both"]);
    assert_eq!(control.pending(), 4);
    assert_eq!(control.save(), saved, "nothing of it is lost");
    let shown = show(&executor, &control, "show configuration pending");
    for line in [
        "crossings both  in part  it needs device eth1, which is not there",
        "crossings far   no       it needs device eth1, which is not there",
        "devices eth1    no       name: Linux has no such device",
        "seats b         no       it needs device eth1, which is not there",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert_eq!(show(&executor, &control, "show differences"), "", "what waits is what is saved");
    // To save makes no other version, and to apply the same again no difference.
    executor.block_on(control.keep(None)).unwrap();
    assert_eq!(show(&executor, &control, "show history").lines().count(), 3, "two versions");
    apply(&executor, &control, SITE).unwrap();
    assert!(applied(&control).is_empty());
    executor.run_for(Duration::from_secs(60));
    assert!(applied(&control).is_empty());
    there.borrow_mut().insert("eth1".to_owned());
    executor.run_for(Duration::from_secs(9));
    assert_eq!(applied(&control), ["+ devices eth1", "+ seats b", "~ crossings both", "+ crossings far"]);
    assert_eq!((control.pending(), control.save()), (0, saved));
    executor.run_for(Duration::from_secs(9));
    assert!(executor.task_names().is_empty(), "there is nothing to be tried any more");
}

#[test]
fn what_waits_follows_commands_and_new_files() {
    let (executor, control, there) = started(&["eth0"]);
    // A part that runs is changed: what waits of it goes on to wait.
    control
        .edit(Crossing { name: "both".into(), ways: vec![], note: String::new() }, |crossing| {
            crossing.note = "x".into()
        })
        .unwrap();
    assert!(
        control.save().text.contains("note: x") && control.save().text.matches("eth1").count() == 4,
        "{:?}",
        control.save()
    );
    // What commands make instead holds.
    control.put(Seat { name: "b".into(), number: 9, device: None }).unwrap();
    assert!(control.save().text.contains("number: 9") && !control.save().text.contains("number: 2"));
    // A file may leave it out, or ask for more that is missing, which is refused.
    let refused = apply(&executor, &control, &format!("{SITE}- name: eth7\n")).unwrap_err();
    assert!(refused.contains("devices eth7: name: Linux has no such device"), "{refused}");
    assert_eq!(control.pending(), 3);
    apply(&executor, &control, "devices:\n- name: eth0\n").unwrap();
    assert_eq!(control.pending(), 0);
    show(&executor, &control, "rollback 1");
    assert_eq!(control.pending(), 3, "what ran once may wait: {}", control.save().text);
    show(&executor, &control, "clear configuration pending");
    assert_eq!(control.pending(), 0);
    there.borrow_mut().insert("eth1".to_owned());
    applied(&control);
    executor.run_for(Duration::from_secs(20));
    assert!(applied(&control).is_empty() && executor.task_names().is_empty());
}

#[test]
fn a_device_that_the_outside_refuses_at_the_start_waits() {
    let store = Rc::new(Memory::default());
    let text = "devices:\n- name: eth0\n- {name: eth1, plug: broken}\nseats:\n- {name: a, number: 1, device: eth1}\n";
    let (executor, control, _) = control(&["eth0", "eth1"]);
    executor.block_on(control.open_history(store)).unwrap();
    executor.block_on(control.start_with("f.yaml", text)).unwrap();
    assert_eq!((control.pending(), control.objects().all::<Device>().len()), (2, 1));
    // What a room refuses does not wait: who runs a part of a policy has another one.
    let (executor, control, _) = self::control(&["eth0"]);
    let wrong = "seats:\n- {name: a, number: 1}\n- {name: b, number: 1}\n";
    assert!(executor.block_on(control.start_with("f.yaml", wrong)).is_err());
    assert!(control.objects().all::<Seat>().is_empty() && control.pending() == 0);
}

#[test]
fn what_is_lost_while_it_runs_is_made_anew_when_it_is_back() {
    let (executor, control, there) = started(&["eth0", "eth1"]);
    let saved = control.save();
    applied(&control);
    there.borrow_mut().remove("eth1");
    control.lost(&ObjectRef::new("devices", "eth1"), ObjectError::whole("it was pulled"));
    executor.run_for(Duration::from_secs(60));
    assert!(applied(&control).is_empty(), "it runs without");
    assert!(
        show(&executor, &control, "show configuration pending")
            .contains("devices eth1  without its device  it was pulled")
    );
    assert_eq!(control.save(), saved);
    there.borrow_mut().insert("eth1".to_owned());
    executor.run_for(Duration::from_secs(9));
    let expected = [
        "- crossings both",
        "- crossings far",
        "- seats b",
        "- devices eth1",
        "+ devices eth1",
        "+ seats b",
        "+ crossings both",
        "+ crossings far",
    ];
    assert_eq!(applied(&control), expected);
    assert_eq!((control.pending(), control.save()), (0, saved));
}

#[test]
fn what_cannot_be_undone_waits_and_is_not_lost() {
    let (executor, control, there) = control(&["eth0", "eth1"]);
    apply(&executor, &control, "devices:\n- {name: eth0, plug: p}\nseats:\n- {name: a, number: 1}\n").unwrap();
    let before = control.save();
    // It has to go first, since it is the same; then the outside refuses the new one, and the old one, too.
    let goes = there.clone();
    control.objects().inject(move |id| {
        _ = goes.borrow_mut().remove(&*id.name);
        Ok(())
    });
    let error =
        apply(&executor, &control, "devices:\n- {name: eth0, plug: q}\nseats:\n- {name: a, number: 1}\n").unwrap_err();
    assert!(error.contains("could not be undone"), "{error}");
    assert_eq!((control.pending(), control.save()), (1, before.clone()));
    control.objects().inject(|_| Ok(()));
    there.borrow_mut().insert("eth0".to_owned());
    executor.run_for(Duration::from_secs(9));
    assert_eq!((control.pending(), control.save(), control.objects().all::<Device>().len()), (0, before, 1));
}

#[test]
fn many_pending_objects_stand_among_those_that_run_by_key() {
    let names: Vec<String> = (0..1500).map(|number| format!("d{number:04}")).collect();
    let text: String = names.iter().map(|name| format!("- name: {name}\n")).collect();
    let patterns: [fn(usize) -> bool; 6] =
        [|at| at % 2 == 0, |at| at < 700, |at| at >= 700, |at| at / 300 % 2 == 0, |at| at == 300, |_| false];
    for is_there in patterns {
        let there: Vec<&str> =
            names.iter().enumerate().filter(|(at, _)| is_there(*at)).map(|(_, name)| &**name).collect();
        let (executor, control, _) = control(&there);
        executor.block_on(control.start_with("f.yaml", &format!("devices:\n{text}"))).unwrap();
        assert_eq!(control.pending(), names.len() - there.len());
        let saved = control.save().json;
        let saved: Vec<_> = saved["devices"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        assert_eq!(saved, names);
    }
}

//! Interfaces through the commands, as a user meets them, with a worker that is turned by hand.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::channel::channel;
use quiver_engine::{Dataplane, DataplaneError, Settings, Worker};
use quiver_interface::*;
use quiver_testkit::executor::Executor;
use quiver_wire::MacAddress;

mod dummies;

struct House {
    executor: Executor,
    control: Control,
    worker: Worker,
    events: Rc<RefCell<Vec<InterfaceEvent>>>,
}

fn house() -> Result<House, DataplaneError> {
    let executor = Executor::new(1);
    let control = executor.control();
    control.insert_room(Dataplane::new(Settings { buffers: 64, ..Settings::default() })?);
    quiver_statistics::register(&control).expect("it cannot fail");
    register(&control)?;
    dummies::register(&control);
    let worker = control.room_mut::<Dataplane>().start()?.remove(0);
    let events = Rc::new(RefCell::new(vec![]));
    let seen = events.clone();
    watch(&control, move |control, event| {
        if let InterfaceEvent::Removed(id) | InterfaceEvent::Created(id) = event {
            assert!(control.room::<Interfaces>().get(id).is_some(), "watchers can look at the interface");
        }
        seen.borrow_mut().push(event);
    });
    Ok(House { executor, control, worker, events })
}

impl House {
    fn run(&self, line: &str) -> Result<quiver_control::cli::Reply, String> {
        let output = Default::default();
        let run = self.control.commands().run(&self.control, line, &output);
        self.executor.block_on(run).map_err(|error| error.to_string())
    }
    fn add(&self, name: &str) {
        self.control.put(dummies::Dummy::new(name.into())).expect("a new name");
    }
    fn id(&self, name: &str) -> InterfaceId {
        self.control.room::<Interfaces>().id_of(name).expect("it is there")
    }
    fn events(&self) -> Vec<InterfaceEvent> {
        std::mem::take(&mut *self.events.borrow_mut())
    }
}

#[test]
fn settings_follow_commands_and_are_told_once() {
    use InterfaceEvent::*;
    let house = house().unwrap();
    house.add("dummy0");
    let id = house.id("dummy0");
    assert_eq!(house.events(), [Created(id)]);
    house.run("set interface state dummy0 up").unwrap();
    house.run("set interface state dummy0 up").unwrap();
    house.run("set interface mtu packet 9000 dummy0").unwrap();
    house.run("set interface mtu 9000 dummy0").unwrap();
    house.run("set int mac addr dummy0 02:00:00:00:00:07").unwrap();
    assert_eq!(house.events(), [AdminState(id), Mtu(id), Mac(id)]);
    {
        let interfaces = house.control.room::<Interfaces>();
        let interface = interfaces.get(id).unwrap();
        assert!(interface.up && interface.mtu == 9000 && interface.mac == MacAddress([2, 0, 0, 0, 0, 7]));
    }
    // Settings that go leave what the interface was made with.
    house.control.delete::<InterfaceSettings>(&InterfaceName("dummy0".into())).unwrap();
    let interfaces = house.control.room::<Interfaces>();
    let interface = interfaces.get(id).unwrap();
    assert!(!interface.up && interface.mtu == 1500 && interface.mac == MacAddress([2, 0, 0, 0, 0, 1]));
}

#[test]
fn a_part_is_usable_while_the_whole_is() {
    use InterfaceEvent::*;
    let house = house().unwrap();
    house.add("dummy0");
    let mut part = dummies::Dummy::new("dummy0.1".into());
    part.parent = Some(InterfaceName("dummy0".into()));
    house.control.put(part).unwrap();
    let ids @ [whole, part] = ["dummy0", "dummy0.1"].map(|name| house.id(name));
    let usable = || ids.map(|id| house.control.room::<Interfaces>().is_usable(id));
    house.run("set interface state dummy0.1 up").unwrap();
    assert_eq!(usable(), [false, false]);
    house.events();
    house.run("set interface state dummy0 up").unwrap();
    assert_eq!((usable(), house.events()), ([true, true], vec![AdminState(whole), Link(part)]));
    set_link(&house.control, whole, false);
    set_link(&house.control, whole, false);
    assert_eq!((usable(), house.events()), ([false, false], vec![Link(whole), Link(part)]));
    set_link(&house.control, whole, true);
    assert_eq!((usable(), house.events()), ([true, true], vec![Link(whole), Link(part)]));
    house.run("set interface state dummy0 down").unwrap();
    assert_eq!((usable(), house.events()), ([false, false], vec![AdminState(whole), Link(part)]));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let house = house().unwrap();
    house.add("dummy0");
    let mut part = dummies::Dummy::new("dummy0.1".into());
    part.parent = Some(InterfaceName("dummy0".into()));
    house.control.put(part).unwrap();
    for (line, error) in [
        ("set interface state dumy0 up", "there is no interface 'dumy0'; did you mean 'dummy0'?"),
        ("set interface mtu 67 dummy0", "interfaces dummy0: mtu: 67 is too small; at least 68"),
        ("set interface mac address dummy0 01:00:00:00:00:00", "01:00:00:00:00:00 is no address of a single station"),
        ("set interface mac address dummy0.1 02:00:00:00:00:00", "mac: a sub-interface has the address of its parent"),
    ] {
        let refused = house.run(line).unwrap_err();
        assert!(refused.contains(error), "{refused}");
    }
    let new = NewInterface {
        name: "dummy0".into(),
        kind: "dummy",
        mac: MacAddress::ZERO,
        mtu: 1500,
        parent: None,
        queues: None,
    };
    assert_eq!(create(&house.control, new).unwrap_err().field, "name");
}

#[test]
fn owners_name_interfaces() {
    let house = house().unwrap();
    house.add("dummy0");
    let tag = || {
        let settings = house.control.objects().get::<InterfaceSettings>(&InterfaceName("dummy0".into()));
        settings.and_then(|settings| settings.tag.clone())
    };
    house.run("set interface tag dummy0 uplink").unwrap();
    assert_eq!(tag().as_deref(), Some("uplink"));
    let refused = house.run(&format!("set interface tag dummy0 {}", "x".repeat(64))).unwrap_err();
    assert!(refused.contains("interfaces dummy0: tag: a tag of 64 bytes; 1 to 63 bytes"), "{refused}");
    house.run("clear interface tag dummy0").unwrap();
    assert_eq!(tag(), None);
}

#[test]
fn a_part_has_the_address_of_the_whole() {
    let house = house().unwrap();
    house.add("dummy0");
    let mut part = dummies::Dummy::new("dummy0.1".into());
    part.parent = Some(InterfaceName("dummy0".into()));
    house.control.put(part).unwrap();
    house.run("set interface mac address dummy0 02:00:00:00:00:07").unwrap();
    let interfaces = house.control.room::<Interfaces>();
    assert_eq!(interfaces.find("dummy0.1").unwrap().mac, MacAddress([2, 0, 0, 0, 0, 7]));
}

#[test]
fn a_number_is_used_again_only_when_the_worker_has_let_go() {
    let mut house = house().unwrap();
    house.add("dummy0");
    let first = house.id("dummy0");
    house.worker.turn(0);
    house.control.delete_with_users::<dummies::Dummy>(&"dummy0".into()).unwrap();
    house.add("dummy1");
    assert_ne!(house.id("dummy1"), first);
    // The worker takes the interface away in one turn, and has passed a quiescent point behind it in the next.
    house.worker.turn(0);
    house.worker.turn(0);
    house.control.room::<Dataplane>().reclaim();
    house.add("dummy2");
    assert_eq!(house.id("dummy2"), first);
}

#[test]
fn show_has_the_layout_that_users_of_vpp_know() {
    let mut house = house().unwrap();
    house.add("dummy0");
    house.run("set interface state dummy0 up").unwrap();
    house.worker.turn(0);
    let id = house.id("dummy0").0;
    house.control.room::<Dataplane>().rx_counters().row(0).add(id, 3, 180);
    let shown = house.run("show interface").unwrap();
    let lines: Vec<_> = shown.text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[1], ["local0", "0", "down", "0/0/0/0"]);
    assert_eq!(lines[2], ["dummy0", "1", "up", "1500/0/0/0", "rx", "packets", "3"]);
    assert_eq!(lines[3], ["rx", "bytes", "180"]);
    assert_eq!(shown.json[1]["rx-packets"], 3);
    assert_eq!(house.run("show interface dummy0").unwrap().json.as_array().unwrap().len(), 1);
    house.run("clear interfaces").unwrap();
    assert_eq!(house.run("show interface dummy0").unwrap().json[0]["rx-packets"], 0);
    let hardware = house.run("show hardware-interfaces dummy0").unwrap();
    assert!(hardware.text.contains("Ethernet address 02:00:00:00:00:01"), "{}", hardware.text);
}

#[test]
fn the_speed_of_a_link_is_shown_where_it_is_known() {
    let house = house().unwrap();
    house.add("dummy0");
    house.add("dummy1");
    let mut part = dummies::Dummy::new("dummy0.1".into());
    part.parent = Some(InterfaceName("dummy0".into()));
    house.control.put(part).unwrap();
    set_speed(&house.control, house.id("dummy0"), Some(2_500_000));
    let speeds = |line: &str| {
        let rows = house.run(line).unwrap().json;
        let row = |row: &serde_json::Value| (row["name"].clone(), row["link-speed-kbps"].clone());
        rows.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    use serde_json::json;
    let whole = [("local0".into(), json!(null)), ("dummy0".into(), json!(2_500_000)), ("dummy1".into(), json!(null))];
    assert_eq!(speeds("show hardware-interfaces"), whole);
    assert_eq!(speeds("show interface dummy0.1"), [("dummy0.1".into(), json!(2_500_000))], "a part has the whole's");
    let text = house.run("show hardware-interfaces dummy0 dummy1").unwrap().text;
    assert!(text.contains("  Link speed: 2.5 Gbps\n") && text.contains("  Link speed: unknown\n"), "{text}");
    // Those who watch figures see what is known, and as something that falls, too.
    let gauges = || {
        quiver_statistics::refresh(&house.control);
        let metrics = quiver_statistics::metrics::metrics(&quiver_statistics::segment(&house.control));
        let mut found = metrics.into_iter().filter(|metric| metric.name == "interface_link_speed_kbps");
        let metric = found.next().expect("it is there");
        assert_eq!((metric.kind, found.next()), (quiver_statistics::metrics::Kind::Gauge, None));
        metric.points.into_iter().map(|point| (point.labels, point.value)).collect::<Vec<_>>()
    };
    assert_eq!(gauges(), [(vec![("interface", "dummy0".to_owned())], 2_500_000)]);
    set_speed(&house.control, house.id("dummy0"), None);
    assert_eq!(gauges(), []);
}

#[test]
fn tasks_wake_when_workers_have_rung() {
    let house = house().unwrap();
    let woken = Rc::new(RefCell::new(0));
    let (count, signal) = (woken.clone(), house.control.room::<Events>().signal.clone());
    house.control.spawn("listener", async move {
        loop {
            signal.changed().await;
            *count.borrow_mut() += 1;
        }
    });
    house.executor.run_ready();
    Events::answer(&house.control);
    house.executor.run_ready();
    assert_eq!(*woken.borrow(), 0, "nobody rang");
    house.control.room::<Dataplane>().bell().ring();
    Events::answer(&house.control);
    house.executor.run_ready();
    assert_eq!(*woken.borrow(), 1);
}

#[test]
fn a_flood_of_messages_leaves_others_their_turn() {
    let house = house().unwrap();
    let (outbox, inbox) = channel(64, house.control.room::<Dataplane>().bell());
    (0..10).for_each(|n| assert!(outbox.send(n)));
    let (heard, is_flood) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
    let hear = {
        let (heard, is_flood) = (heard.clone(), is_flood.clone());
        move |_: &Control| {
            for n in inbox.waiting() {
                heard.set(heard.get() + 1);
                // Each that is heard is followed by another one.
                assert!(heard.get() < 1000, "the flood has the thread to itself");
                assert!(!is_flood.get() || outbox.send(n));
            }
            !inbox.is_empty()
        }
    };
    house.control.spawn("flood", Events::listen(house.control.clone(), hear));
    house.executor.run_for(Duration::from_millis(1));
    assert!((20..200).contains(&heard.get()), "{} were heard in a millisecond", heard.get());
    is_flood.set(false);
    house.executor.run_for(Duration::from_millis(1));
    assert_eq!(house.executor.next_timer(), None, "it waits for the bell now");
}

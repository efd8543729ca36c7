//! Objects change one by one, in order, checked and undone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::ports::{self, Log, Port, PortName, Switch, SwitchId, applied, apply_file, control, port, switch};
use quiver_control::object::Moment;
use quiver_control::{Control, Object};
use quiver_testkit::executor::Executor;

fn refused(result: Result<(), quiver_control::ObjectError>) -> String {
    result.unwrap_err().to_string()
}

fn ready() -> Control {
    ready_with_executor().1
}

fn ready_with_executor() -> (Executor, Control) {
    let (executor, control) = control();
    for name in ["p1", "p2"] {
        control.put(port(name)).unwrap();
    }
    control.put(switch(1, &["p1"])).unwrap();
    applied(&control);
    (executor, control)
}

#[test]
fn what_runs_is_kept_and_nothing_is_applied_twice() {
    let control = ready();
    control.put(port("p1")).unwrap();
    assert!(applied(&control).is_empty());
    control.edit(port("p1"), |port| port.mtu = 9000).unwrap();
    assert_eq!(applied(&control), ["~ ports p1"]);
    assert_eq!(control.objects().get::<Port>(&PortName("p1".into())).unwrap().mtu, 9000);
    assert_eq!(control.objects().names_in("port"), ["p1", "p2"]);
    control.delete::<Port>(&PortName("p2".into())).unwrap();
    assert_eq!(control.objects().all::<Port>().len(), 1);
    assert_eq!(control.objects().names_in("port"), ["p1"]);
}

#[test]
fn objects_have_a_budget_of_memory_and_what_goes_gives_back() {
    let control = ready();
    let used = control.objects().budget_use();
    assert_eq!((used.used, used.kinds), (3 * 2048, vec![("ports", 2 * 2048), ("switches", 2048)]));
    control.set_object_memory(4 * 2048);
    control.put(port("p3")).unwrap();
    applied(&control);
    let told = "ports p4: it takes 2048 bytes, and 8192 of the 8192 bytes for objects are used, 6144 of them by ports; delete \
                some, or start quiverd with more --object-memory";
    assert_eq!(refused(control.put(port("p4"))), told);
    assert!(applied(&control).is_empty() && control.objects().get::<Port>(&PortName("p4".into())).is_none());
    // What takes no more is not refused.
    control.edit(port("p3"), |port| port.mtu = 9000).unwrap();
    control.delete::<Port>(&PortName("p3".into())).unwrap();
    control.put(port("p4")).unwrap();
    assert_eq!(control.objects().budget_use().used, 4 * 2048);
}

#[test]
fn a_rehearsal_checks_and_notes_and_applies_nothing() {
    let control = ready();
    control.objects().only_note();
    control.put(port("p3")).unwrap();
    control.put(switch(2, &["p3"])).unwrap();
    assert_eq!(refused(control.put(Port { mtu: 10, ..port("p1") })), "ports p1: mtu: 10 is too small; at least 64");
    control.delete::<Port>(&PortName("p2".into())).unwrap();
    assert!(applied(&control).is_empty());
    assert_eq!(control.objects().names_in("port"), ["p1", "p3"]);
}

#[test]
fn refusals_name_object_field_and_remedy() {
    let control = ready();
    let small = Port { mtu: 10, ..port("p1") };
    assert_eq!(refused(control.put(small)), "ports p1: mtu: 10 is too small; at least 64");
    assert_eq!(
        refused(control.put(switch(2, &["p1", "p3"]))),
        "switches 2: members[1].port: there is no port p3; did you mean 'p1'?"
    );
    let lost = Switch { uplink: Some(SwitchId(77)), ..switch(2, &[]) };
    assert_eq!(refused(control.put(lost)), "switches 2: uplink: there is no switches 77; there are: 1");
    assert_eq!(
        refused(control.delete::<Port>(&PortName("p1".into()))),
        "ports p1: it is still used by switches 1; delete that first"
    );
    assert_eq!(refused(control.delete::<Switch>(&9)), "switches 9: it does not exist; there are: 1");
    assert!(applied(&control).is_empty(), "nothing was applied");
}

#[test]
fn a_change_of_a_fixed_field_takes_the_users_down_and_up() {
    let control = ready();
    control.put(Switch { uplink: Some(SwitchId(1)), ..switch(2, &["p2"]) }).unwrap();
    applied(&control);
    control.edit(port("p1"), |port| port.line = "b".to_owned()).unwrap();
    let expected = ["- switches 2", "- switches 1", "- ports p1", "+ ports p1", "+ switches 1", "+ switches 2"];
    assert_eq!(applied(&control), expected);
    assert_eq!(control.objects().all::<Switch>().len(), 2);
}

#[test]
fn what_stands_on_an_object_is_down_while_that_comes_changes_and_goes() {
    let lease = || ports::Lease::new(7, "10.0.0.1".parse().unwrap());
    let control = ready();
    control.put(lease()).unwrap();
    control.put(ports::Lease::new(8, "10.0.0.1".parse().unwrap())).unwrap();
    applied(&control);
    control.put(switch(7, &["p1"])).unwrap();
    let around = |step| ["- leases 7 10.0.0.1", step, "+ leases 7 10.0.0.1"];
    assert_eq!(applied(&control), around("+ switches 7"));
    control.put(switch(7, &["p2"])).unwrap();
    assert_eq!(applied(&control), around("~ switches 7"));
    // What stands on something is no use of it, and comes back without it.
    control.delete::<Switch>(&7).unwrap();
    assert_eq!(applied(&control), around("- switches 7"));
    control.delete::<ports::Lease>(&lease().key()).unwrap();
    control.put(switch(7, &[])).unwrap();
    assert_eq!(applied(&control), ["- leases 7 10.0.0.1", "+ switches 7"]);
    // A replacement takes it down, too, and a failure brings it back.
    control.put(switch(7, &["p1"])).unwrap();
    control.put(lease()).unwrap();
    applied(&control);
    for step in 0..6 {
        control.room_mut::<Log>().fail_at = Some(step);
        let before = control.save();
        assert!(refused(control.edit(port("p1"), |port| port.line = "b".to_owned())).ends_with(": planted"));
        assert_eq!((control.save(), applied(&control).len()), (before, 2 * step));
    }
}

/// The uplink moves from a switch with the port as it was to one with the port as it becomes: that is no single step.
#[test]
fn an_update_that_would_wait_for_itself_takes_two_steps() {
    let (executor, control) = ready_with_executor();
    control.put(Switch { uplink: Some(SwitchId(1)), ..switch(4, &[]) }).unwrap();
    applied(&control);
    let file = "ports: [{name: p1, line: b}, {name: p2}]\n\
                switches: [{id: 0, members: [{port: p1}]}, {id: 4, uplink: 0}]";
    apply_file(&executor, &control, "f", file).unwrap();
    let expected = ["- switches 4", "- switches 1", "- ports p1", "+ ports p1", "+ switches 0", "+ switches 4"];
    assert_eq!(applied(&control), expected);
}

#[test]
fn an_object_goes_with_its_users() {
    let control = ready();
    control.put(Switch { uplink: Some(SwitchId(1)), ..switch(2, &["p2"]) }).unwrap();
    applied(&control);
    control.delete_with_users::<Port>(&PortName("p1".into())).unwrap();
    assert_eq!(applied(&control), ["- switches 2", "- switches 1", "- ports p1"]);
    assert_eq!(control.objects().all::<Port>().len(), 1);
    // The names are counted right: what is not used any more can go.
    control.delete::<Port>(&PortName("p2".into())).unwrap();
}

#[test]
fn a_list_loses_the_items_that_refer_to_what_goes_and_its_object_goes_with_the_last() {
    let control = ready();
    control.put(port("p3")).unwrap();
    control.put(switch(1, &["p1", "p2", "p1", "p3"])).unwrap();
    control.put(Switch { uplink: Some(SwitchId(1)), ..switch(2, &["p1", "p3"]) }).unwrap();
    applied(&control);
    let delete = |name: &str| control.delete_with_users::<Port>(&PortName(name.to_owned()));
    for step in 0..3 {
        control.room_mut::<Log>().fail_at = Some(step);
        let before = control.save();
        assert!(refused(delete("p1")).ends_with(": planted"));
        assert_eq!((control.save(), applied(&control).len()), (before, 2 * step));
    }
    delete("p1").unwrap();
    assert_eq!(applied(&control), ["~ switches 1", "~ switches 2", "- ports p1"]);
    assert_eq!(*control.objects().get::<Switch>(&1).unwrap(), switch(1, &["p2", "p3"]));
    delete("p2").unwrap();
    assert_eq!(applied(&control), ["~ switches 1", "- ports p2"]);
    // The second has lost its last member as well as its uplink.
    delete("p3").unwrap();
    assert_eq!(applied(&control), ["- switches 2", "- switches 1", "- ports p3"]);
    assert!(control.objects().all::<Switch>().is_empty());
}

#[test]
fn what_loses_an_item_in_one_round_and_its_hold_in_the_next_goes() {
    let control = ready();
    control.put(Switch { uplink: Some(SwitchId(1)), ..switch(2, &["p1", "p2"]) }).unwrap();
    applied(&control);
    control.delete_with_users::<Port>(&PortName("p1".into())).unwrap();
    assert_eq!(applied(&control), ["- switches 2", "- switches 1", "- ports p1"]);
}

#[test]
fn very_many_go_in_turns_and_others_have_theirs() {
    let (executor, control) = control();
    for name in ["p1", "p2"] {
        control.put(port(name)).unwrap();
    }
    for id in 0..1_000_u32 {
        let uplink = id.checked_sub(500).map(SwitchId);
        control.put(Switch { uplink, ..switch(id, if id == 7 { &["p1", "p2"] } else { &["p1"] }) }).unwrap();
    }
    applied(&control);
    // The caller drops its future; the work goes on.
    let waiting = {
        let control = control.clone();
        control
            .clone()
            .spawn("waiting", async move { control.delete_in_turns::<Port>(&PortName("p1".into())).await.unwrap() })
    };
    let (others, left) = (Rc::new(Cell::new(0)), control.clone());
    let counted = others.clone();
    control.spawn("others", async move {
        while counted.get() < 10_000 && left.objects().get::<Port>(&PortName("p1".into())).is_some() {
            counted.set(counted.get() + 1);
            if counted.get() == 2 {
                // What comes meanwhile goes with it.
                left.put(switch(2_000, &["p1"])).unwrap();
                left.delete::<Switch>(&999).unwrap();
            }
            if counted.get() == 6 {
                // To what is just going as well.
                for id in (0..500).filter(|id| *id != 7 && left.objects().get::<Switch>(id).is_some()) {
                    left.put(Switch { uplink: Some(SwitchId(id)), ..switch(3_000 + id, &["p2"]) }).unwrap();
                }
            }
            left.yield_now().await;
        }
    });
    let deleted = {
        let control = control.clone();
        async move {
            let (all, mut turns) = (control.objects().all::<Switch>().len(), 0);
            while turns < 10_000 && control.objects().all::<Switch>().len() == all {
                turns += 1;
                control.yield_now().await;
            }
            waiting.cancel();
            while turns < 10_000 && control.objects().get::<Port>(&PortName("p1".into())).is_some() {
                turns += 1;
                control.yield_now().await;
            }
        }
    };
    executor.block_on(deleted);
    assert!(others.get() >= 10, "{}", others.get());
    assert!(control.objects().get::<Port>(&PortName("p1".into())).is_none());
    assert_eq!(control.objects().all::<Switch>().iter().map(|switch| switch.id).collect::<Vec<_>>(), [7]);
    assert_eq!(*control.objects().get::<Switch>(&7).unwrap(), switch(7, &["p2"]));
    let log = applied(&control);
    let place = |line: &str| log.iter().position(|applied| applied == line).unwrap();
    assert!(place("- switches 600") < place("- switches 100"));
    assert_eq!(log.last().unwrap(), "- ports p1");
}

#[test]
fn what_is_deleted_in_turns_must_be_there() {
    let (executor, control) = ready_with_executor();
    let gone = executor.block_on(control.delete_in_turns::<Port>(&PortName("p9".into())));
    assert_eq!(refused(gone), "ports p9: it does not exist; there are: p1, p2");
}

#[test]
fn a_failure_at_any_step_is_undone() {
    // Six steps: see above.
    for step in 0..6 {
        let control = ready();
        control.put(Switch { uplink: Some(SwitchId(1)), ..switch(2, &["p2"]) }).unwrap();
        applied(&control);
        let before = control.save();
        control.room_mut::<Log>().fail_at = Some(step);
        let refusal = refused(control.edit(port("p1"), |port| port.line = "b".to_owned()));
        assert!(refusal.ends_with(": planted"), "{refusal}");
        assert_eq!(control.save(), before, "step {step}");
        assert_eq!(applied(&control).len(), 2 * step);
        // And the names are as before: the same change works now.
        control.edit(port("p1"), |port| port.line = "b".to_owned()).unwrap();
        assert_eq!(
            refused(control.delete::<Switch>(&1)),
            "switches 1: it is still used by switches 2; delete that first"
        );
    }
}

#[test]
fn an_object_may_refer_to_itself_but_not_in_a_circle() {
    let (executor, control) = ready_with_executor();
    let up = |id, uplink| Switch { uplink: Some(SwitchId(uplink)), ..switch(id, &[]) };
    control.put(up(1, 1)).unwrap();
    control.put(up(2, 1)).unwrap();
    control.put(up(3, 2)).unwrap();
    let circle = "switches 1: these refer to each other in a circle: switches 1, switches 3, switches 2; \
        leave out one of the references";
    assert_eq!(refused(control.put(up(1, 3))), circle);
    let text = "switches:\n- {id: 1, uplink: 2}\n- {id: 2, uplink: 1}\n";
    let errors = apply_file(&executor, &control, "f", text).unwrap_err();
    assert_eq!(errors[0].error.what, "these refer to each other in a circle: switches 1, switches 2");
}

#[test]
fn a_long_chain_is_no_circle() {
    let (executor, control) = control();
    let mut text = "switches:\n- id: 0\n".to_owned();
    for id in 1..20_000 {
        text.push_str(&format!("- {{id: {id}, uplink: {}}}\n", id - 1));
    }
    apply_file(&executor, &control, "f", &text).unwrap();
    assert_eq!(applied(&control)[..2], ["+ switches 0", "+ switches 1"]);
    control.delete_with_users::<Switch>(&19_990).unwrap();
    assert_eq!(applied(&control).first().unwrap(), "- switches 19999");
}

#[test]
fn keys_of_two_fields_are_one_name() {
    let (_, control) = control();
    let lease = ports::Lease::new(7, "10.0.0.1".parse().unwrap());
    assert_eq!(lease.id().to_string(), "leases 7 10.0.0.1");
    control.put(lease.clone()).unwrap();
    assert!(control.objects().get::<ports::Lease>(&lease.key()).is_some());
}

#[test]
fn what_changes_lead_to_is_checked_when_all_are_made() {
    let (executor, control) = ready_with_executor();
    let (asked, made) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (asks, makes) = (asked.clone(), made.clone());
    // Ports have 4,000 bytes together at most. There is something to check as long as more changes were made than checked.
    control.objects().inject(move |_| {
        makes.set(makes.get() + 1);
        Ok(())
    });
    control.objects().at_end(move |control| {
        (asks.get() < made.get()).then(|| {
            asks.set(asks.get() + 1);
            let bytes: u32 = control.objects().all::<Port>().iter().map(|port| u32::from(port.mtu)).sum();
            if bytes > 4000 { Err(quiver_control::ObjectError::whole(format!("{bytes} are too many"))) } else { Ok(()) }
        })
    });
    // One after the other would be refused: the first one grows.
    let file = |one, other| format!("ports:\n- name: p1\n  mtu: {one}\n- name: p2\n  mtu: {other}\n");
    apply_file(&executor, &control, "file", &file(3000, 800)).expect("they are small enough");
    assert_eq!(asked.get(), 3, "two ports have changed, and a switch has gone");
    applied(&control);
    assert_eq!(refused(control.put(Port { mtu: 3500, ..port("p1") })), "4300 are too many");
    assert_eq!(applied(&control), ["~ ports p1", "~ ports p1"], "it was undone");
    control.put(Port { mtu: 900, ..port("p2") }).expect("what was refused is over");
}

#[test]
fn what_is_called_around_steps_and_turns_is_called_before_and_after_each_whatever_becomes_of_it() {
    let (executor, control) = control();
    let moments = Rc::new(RefCell::new(vec![]));
    let told = moments.clone();
    control.objects().around_steps(move |control, moment| {
        told.borrow_mut().push((moment, control.objects().all::<Port>().len()));
    });
    control.put(port("p1")).expect("it is new");
    let (before, after) = (Moment::Before, Moment::After);
    assert_eq!(moments.take(), [(before, 0), (after, 1)]);
    control.put(port("p1")).expect("nothing changes");
    assert_eq!(moments.take(), [], "there was no step");
    control.delete::<Port>(&port("p1").key()).expect("it is there");
    assert_eq!(moments.take(), [(before, 1), (after, 0)]);
    // A step that its room refuses, or in which it panics, has its end, too.
    for panics in [false, true] {
        *control.room_mut::<Log>() = Log { fail_at: Some(0), panics, ..Log::default() };
        control.put(port("p2")).expect_err("it is planted");
        assert_eq!(moments.take(), [(before, 0), (after, 0)], "{panics}");
    }
    // A turn has all steps that find room in it.
    let told = moments.clone();
    control.objects().around_turns(move |_, moment| told.borrow_mut().push((moment, 99)));
    *control.room_mut::<Log>() = Log::default();
    apply_file(&executor, &control, "file", "ports: [{name: p1, mtu: 900}, {name: p2, mtu: 900}]")
        .expect("they are new");
    assert_eq!(moments.take(), [(before, 99), (before, 0), (after, 1), (before, 1), (after, 2), (after, 99)]);
}

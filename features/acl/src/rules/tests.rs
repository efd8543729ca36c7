//! Lists that are compiled aside from control.

use std::cell::{Cell, RefCell};
use std::future::ready;
use std::rc::Rc;
use std::sync::Weak;
use std::task::{Context, Waker};

use quiver_control::Signal;
use quiver_control::files::Helper;
use quiver_control::transaction::Terms;
use quiver_scenarios::all::{self, Room};
use quiver_scenarios::{ROOMS, Rooms};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::executor::Executor;

use super::*;
use crate::{Acl, Acls, text};

/// This room. Other crates depend on another compilation of it, whose types are not those of these tests.
const OWN: Room = Room {
    name: "quiver_acl",
    after: &["quiver_interface", "quiver_ip", "quiver_session"],
    register: |control| Ok(crate::register(control)?),
};

/// A daemon with this room, and all others that do not need it, configured by these lines.
pub(crate) fn daemon(lines: &str) -> Daemon {
    let register = |control: &Control| {
        let others = all::ROOMS.iter().filter(|room| room.name != OWN.name && !room.after.contains(&OWN.name));
        all::register_all(control, others.chain([&OWN]).collect()).map_err(|error| error.to_string())
    };
    let mut daemon = Daemon::new(Rooms { register, ..ROOMS }, Setup::default()).expect("the rooms fit together");
    daemon.configure(lines);
    daemon
}

fn rules(count: usize) -> Rules {
    let rule = |n: usize| format!("permit src 10.{}.{}.0/24 proto 17 dport {}", n >> 8 & 255, n & 255, n % 9 + 1);
    let words: Vec<String> = (0..count).map(rule).collect();
    let words = words.join(" , ");
    text::rules(&words.split(' ').map(str::to_owned).collect::<Vec<_>>()).expect("rules").into()
}

/// Work that is done later, and whether it has been done.
type Work = (Box<dyn FnOnce() + Send>, Rc<Cell<bool>>);

/// Works when it is told to.
#[derive(Default)]
pub(crate) struct Later {
    work: RefCell<Vec<Work>>,
    /// Pieces of the next work that are done at once.
    at_once: Cell<usize>,
    changed: Signal,
}

impl Later {
    /// Does so many pieces of the next work at once.
    pub(crate) fn do_at_once(&self, count: usize) {
        self.at_once.set(count);
    }
    /// Amount of work to be done.
    pub(crate) fn waiting(&self) -> usize {
        self.work.borrow().len()
    }
    /// Does it, or fails as a thread that panics.
    pub(crate) fn finish(&self, succeeds: bool) {
        for (work, is_done) in self.work.take() {
            if succeeds {
                work();
            }
            is_done.set(true);
        }
        self.changed.notify();
    }
}

impl Helper for Later {
    fn help(&self, work: Box<dyn FnOnce() + Send>) -> LocalFuture<()> {
        if let Some(left) = self.at_once.get().checked_sub(1) {
            self.at_once.set(left);
            work();
            return Box::pin(ready(()));
        }
        let (is_done, changed) = (Rc::new(Cell::new(false)), self.changed.clone());
        self.work.borrow_mut().push((work, is_done.clone()));
        Box::pin(async move {
            while !is_done.get() {
                changed.changed().await;
            }
        })
    }
}

#[test]
fn a_long_list_is_compiled_by_a_helper_once_for_all_copies() {
    let (executor, helper) = (Executor::new(0), Rc::new(Later::default()));
    let control = executor.control();
    control.help_by(helper.clone(), helper.clone());
    let (few, many) = (rules(AT_ONCE), rules(AT_ONCE + 1));
    assert!(few.compile(&control).is_none());
    let compiling = many.compile(&control).expect("it is long");
    let copy = many.clone();
    helper.do_at_once(1);
    executor.block_on(compiling);
    assert!(copy.is_compiled() && copy.compile(&control).is_none());
    assert!(Arc::ptr_eq(&copy.list(), &many.list()));
    assert!(Arc::ptr_eq(&copy.list().rules, &many.0.rules), "the list has no copy of the rules");
    assert!(copy == rules(AT_ONCE + 1) && copy != few);
}

/// A configuration with a short list and a long one.
fn file(count: usize) -> String {
    let line = |n: usize| format!("  - {{action: permit, source: 10.{}.{}.0/24, protocol: 17}}\n", n >> 8, n & 255);
    let lines: String = (0..count).map(line).collect();
    format!("acls:\n- id: 0\n  rules: [{{action: permit}}]\n- id: 1\n  rules:\n{lines}")
}

/// The list of this number in force.
fn in_force(daemon: &Daemon, id: u32) -> Option<Weak<List>> {
    let acl = daemon.control().objects().get::<Acl>(&id)?;
    let rules = daemon.control().room::<Acls>().current().get(id)?.rules.clone();
    assert!(Arc::ptr_eq(&rules, &acl.rules.0.rules), "the object that runs is the list that workers have");
    Some(Arc::downgrade(&acl.rules.list()))
}

/// A change of the configuration while the helper's work of each number is under way. Whether it was made, by number.
fn applied_each(meanwhile: impl Fn(&mut Daemon, &Later)) -> Vec<bool> {
    let mut made = vec![];
    for number in 0.. {
        let (mut daemon, helper) = (daemon("set acl-plugin acl deny"), Rc::new(Later::default()));
        daemon.control().help_by(helper.clone(), helper.clone());
        helper.do_at_once(number);
        let (control, text) = (daemon.control().clone(), file(AT_ONCE + 1));
        let mut applying = Box::pin(async move { control.apply("f.yaml", &text, Terms::default()).await.is_ok() });
        let at_once = applying.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(at_once.is_pending());
        daemon.settle().expect("it settles");
        if helper.waiting() == 0 {
            break;
        }
        assert_eq!(helper.waiting(), 1);
        drop(applying);
        meanwhile(&mut daemon, &helper);
        let now = daemon.control().save().text;
        let is_made = in_force(&daemon, 1).is_some();
        assert_eq!(now.contains("10.4.0.0/24"), is_made, "of {number}");
        made.push(is_made);
        // The configuration is free, and the same change can be made.
        helper.do_at_once(usize::MAX);
        let again = daemon.executor().block_on(daemon.control().apply("f.yaml", &file(AT_ONCE + 1), Terms::default()));
        again.expect("it is valid");
        assert!(in_force(&daemon, 1).is_some());
    }
    made
}

#[test]
fn a_change_whose_client_leaves_is_made_whole_or_not_at_all() {
    let made = applied_each(|daemon, helper| {
        daemon.settle().expect("it settles");
        while helper.waiting() > 0 {
            helper.finish(true);
            daemon.settle().expect("it settles");
        }
    });
    // It is read, compiled, and written as a version.
    assert!(made.len() >= 3 && made.contains(&false), "{made:?}");
}

#[test]
fn a_change_whose_helper_fails_is_made_whole_or_not_at_all() {
    let made = applied_each(|daemon, helper| {
        helper.finish(false);
        helper.do_at_once(usize::MAX);
        daemon.settle().expect("it settles");
    });
    assert!(made.len() >= 3 && made.contains(&false), "{made:?}");
}

#[test]
fn lists_that_were_replaced_are_freed() {
    let mut daemon = daemon("");
    let apply = |daemon: &mut Daemon, text: &str| {
        let terms = Terms { allow_empty: true, ..Terms::default() };
        daemon.executor().block_on(daemon.control().apply("f.yaml", text, terms)).expect("it is valid");
        daemon.settle().expect("it settles");
    };
    let mut before: Option<Weak<List>> = None;
    for count in [AT_ONCE + 1, AT_ONCE + 2, 10, AT_ONCE + 3] {
        apply(&mut daemon, &file(count));
        let now = in_force(&daemon, 1).expect("it is in force");
        assert_eq!(now.upgrade().map(|list| list.rules.len()), Some(count));
        assert!(before.replace(now).is_none_or(|before| before.upgrade().is_none()), "before {count} rules");
    }
    apply(&mut daemon, "");
    assert!(before.is_some_and(|before| before.upgrade().is_none()));
}

#[test]
fn a_configuration_without_memory_is_refused_before_its_lists_are_compiled() {
    let (daemon, helper) = (daemon("set acl-plugin acl deny"), Rc::new(Later::default()));
    daemon.control().help_by(helper.clone(), helper.clone());
    daemon.control().set_object_memory(64 << 10);
    // It is read and freed; a compilation would leave one of them waiting for ever.
    helper.do_at_once(2);
    let text = file(AT_ONCE + 1);
    let applied = daemon.executor().block_on(daemon.control().apply("f.yaml", &text, Terms::default()));
    let error = applied.expect_err("it takes too much").to_string();
    assert!(error.contains("acls 1: it takes") && error.contains("--object-memory"), "{error}");
}

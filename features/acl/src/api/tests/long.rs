//! Lists that a helper compiles, as clients set them.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use quiver_testkit::daemon::Daemon;

use super::*;
use crate::rules::AT_ONCE;
use crate::rules::tests::{Later, daemon};

/// A daemon whose helper works when it is told to.
fn helped() -> (Daemon, Rc<Later>) {
    let (daemon, helper) = (daemon(""), Rc::new(Later::default()));
    daemon.control().help_by(helper.clone(), helper.clone());
    (daemon, helper)
}

/// A request for a list of so many rules: index and return value of its reply.
fn asks(control: &Control, id: u32, count: usize) -> Pin<Box<dyn Future<Output = (u32, i32)>>> {
    let mut caller = Caller::connect(control);
    Box::pin(async move {
        let reply = caller.waiting(&add(id, vec![rule("10.0.0.0", 8, 17); count])).await.expect("a reply");
        (reply.acl_index, reply.retval)
    })
}

/// The output of work that goes on.
fn poll<T>(work: impl Future<Output = T>) -> Poll<T> {
    pin!(work).poll(&mut Context::from_waker(Waker::noop()))
}

/// Numbers of rules of the lists in force, by number of the list.
fn running(daemon: &Daemon) -> Vec<(u32, usize)> {
    let acls = daemon.control().room::<Acls>();
    let (lists, mut numbers) = (acls.current(), 0..10);
    let all = numbers.by_ref().filter_map(|id| Some((id, lists.get(id)?.rules.len())));
    all.collect()
}

#[test]
fn a_long_list_is_in_force_when_its_client_hears_of_it() {
    let (mut daemon, helper) = helped();
    assert_eq!(poll(asks(daemon.control(), NONE, 1)), Poll::Ready((0, 0)));
    for (deletes, expected) in [(false, (0, 0)), (true, (NONE, Retval::NO_SUCH_ENTRY.0))] {
        let mut long = asks(daemon.control(), 0, AT_ONCE + 1);
        assert_eq!((poll(&mut long), helper.waiting()), (Poll::Pending, 1));
        // Another client changes the list meanwhile: its change comes first.
        assert_eq!(poll(asks(daemon.control(), 0, 2)), Poll::Ready((0, 0)));
        assert_eq!(running(&daemon), [(0, 2)]);
        if deletes {
            Caller::connect(daemon.control()).request(&AclDel { acl_index: 0 }).expect("it is there");
        }
        helper.finish(true);
        daemon.settle().expect("it settles");
        assert_eq!(poll(&mut long), Poll::Ready(expected));
        assert_eq!(running(&daemon), if deletes { vec![] } else { vec![(0, AT_ONCE + 1)] });
    }
}

#[test]
fn new_lists_that_are_compiled_together_get_numbers_of_their_own() {
    let (mut daemon, helper) = helped();
    let mut all = [0, 1, 2].map(|more| asks(daemon.control(), NONE, AT_ONCE + 1 + more));
    assert!(all.iter_mut().all(|one| poll(one).is_pending()));
    assert_eq!(poll(asks(daemon.control(), NONE, 1)), Poll::Ready((0, 0)));
    helper.finish(true);
    daemon.settle().expect("it settles");
    // Which of them is first does not matter.
    let lists = running(&daemon);
    for (more, told) in all.map(poll).into_iter().enumerate() {
        let Poll::Ready((id, 0)) = told else { panic!("{told:?}") };
        assert!(lists.contains(&(id, AT_ONCE + 1 + more)), "{lists:?} without {id}");
    }
    assert_eq!(lists.len(), 4);
}

#[test]
fn a_list_is_set_even_if_its_client_leaves_while_it_is_compiled() {
    let (mut daemon, helper) = helped();
    let mut long = asks(daemon.control(), NONE, AT_ONCE + 1);
    assert!(poll(&mut long).is_pending());
    drop(long);
    daemon.settle().expect("it settles");
    helper.finish(true);
    daemon.settle().expect("it settles");
    assert_eq!(running(&daemon), [(0, AT_ONCE + 1)]);
}

#[test]
fn a_helper_that_fails_delays_a_list_and_no_more() {
    let (mut daemon, helper) = helped();
    let mut long = asks(daemon.control(), NONE, AT_ONCE + 1);
    assert!(poll(&mut long).is_pending());
    helper.finish(false);
    daemon.settle().expect("it settles");
    assert_eq!(poll(&mut long), Poll::Ready((0, 0)));
    assert_eq!(running(&daemon), [(0, AT_ONCE + 1)]);
}

#[test]
fn a_list_without_memory_is_refused_before_it_is_compiled() {
    let (daemon, helper) = helped();
    daemon.control().set_object_memory(64 << 10);
    let refused = Poll::Ready((NONE, Retval::INVALID_VALUE.0));
    assert_eq!(poll(asks(daemon.control(), NONE, AT_ONCE + 1)), refused);
    assert_eq!(helper.waiting(), 0);
}

#[test]
fn a_list_that_is_ready_during_a_change_of_the_configuration_is_refused() {
    let (mut daemon, helper) = helped();
    let mut long = asks(daemon.control(), NONE, AT_ONCE + 1);
    assert!(poll(&mut long).is_pending());
    helper.do_at_once(usize::MAX);
    let terms = quiver_control::transaction::Terms { confirm_within: Some(60), ..Default::default() };
    let applied = daemon.executor().block_on(daemon.control().apply("f.yaml", "acls: [{id: 5}]", terms));
    applied.expect("a configuration");
    helper.finish(true);
    daemon.settle().expect("it settles");
    assert_eq!(poll(&mut long), Poll::Ready((NONE, Retval::INVALID_VALUE.0)));
    assert_eq!(running(&daemon), [(5, 0)], "it would go when the change is not confirmed");
}

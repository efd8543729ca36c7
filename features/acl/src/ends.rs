//! The end of sessions of interfaces' lists. All ends that are pending are made by one visit of all sessions: as many interfaces as go in
//! a change, sessions are gone through once or twice.
//!
//! While sessions of an interface are about to end, an interface that has its number from now on, or gets lists again, lets no packets
//! of sessions pass: they would be those of before. It does so when these have ended.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_interface::Direction;
use quiver_session::expiry::end_sessions_if;

use crate::flow::{Admission, Formats};
use crate::lists::{Acls, Lists};
use crate::rule::Action;

/// Which sessions of an interface end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All of them.
    All,
    /// Those whose first packet these lists, by direction, do not permit and reflect.
    Refused([Vec<u32>; 2]),
}

impl Ending {
    /// Whether a session of the interface ends, by the lists as they are.
    fn concerns(&self, session: &Admission, lists: &Lists) -> bool {
        let Ending::Refused(attached) = self else { return true };
        let attached = &attached[Direction::received(!session.is_sent) as usize];
        let all = attached.iter().filter_map(|list| lists.get(*list));
        let first = all.filter_map(|list| list.decide(&session.fields)).next();
        first != Some(Action::PermitReflect)
    }
}

/// Ends that are pending: a room of the control side.
#[derive(Clone, Default)]
pub(crate) struct Ends(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// By interface, what the next visit ends.
    pending: HashMap<u32, Ending>,
    /// Interfaces whose sessions the visit in progress ends.
    visited: HashSet<u32>,
    /// Interfaces that let packets of sessions pass once their former sessions have ended.
    deferred: HashSet<u32>,
    is_running: bool,
    #[cfg(test)]
    visits: usize,
}

/// Forgets what is pending when the task ends, or is dropped, as those of a stand-in are.
struct Running(Ends);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.0.borrow_mut();
        (state.pending, state.visited, state.deferred) = Default::default();
        state.is_running = false;
    }
}

impl Ends {
    /// Ends sessions of an interface, which are of the tenant of this slot, once workers have the lists as they are now.
    pub fn end(&self, control: &Control, interface: u32, ending: Ending, (slot, formats): (u16, Formats)) {
        let mut state = self.0.borrow_mut();
        // All sessions of before end, whatever lists come later.
        if state.pending.get(&interface) != Some(&Ending::All) {
            state.pending.insert(interface, ending);
        }
        if std::mem::replace(&mut state.is_running, true) {
            return;
        }
        drop(state);
        let (running, control) = (Running(self.clone()), control.clone());
        control.clone().spawn("sessions of interfaces' lists", async move {
            let running = running;
            while running.0.visit(&control, (slot, formats)).await {}
        });
    }
    /// Has an interface let packets of sessions pass, now or when former sessions of its number have ended; or no more.
    pub fn reflect(&self, control: &Control, interface: u32, reflects: bool) {
        let mut state = self.0.borrow_mut();
        let is_ending = state.pending.contains_key(&interface) || state.visited.contains(&interface);
        let is_new = reflects && !control.room::<Acls>().current().reflects(interface);
        if is_new && is_ending {
            state.deferred.insert(interface);
            return;
        }
        state.deferred.remove(&interface);
        control.room_mut::<Acls>().reflect(interface, reflects);
    }
    /// Makes all pending ends by one visit; false if there were none.
    async fn visit(&self, control: &Control, (slot, formats): (u16, Formats)) -> bool {
        let endings = {
            let mut state = self.0.borrow_mut();
            let endings = std::mem::take(&mut state.pending);
            state.visited = endings.keys().copied().collect();
            endings
        };
        if endings.is_empty() {
            return false;
        }
        let settled = control.room::<Dataplane>().settled();
        settled.await;
        #[cfg(test)]
        {
            self.0.borrow_mut().visits += 1;
        }
        let known = Arc::new((endings, control.room::<Acls>().current().clone()));
        let ends = move |key: &_, identity| {
            let (endings, lists) = &*known;
            let session = Admission::of(key, identity, formats);
            session.is_some_and(|at| endings.get(&at.interface).is_some_and(|ending| ending.concerns(&at, lists)))
        };
        end_sessions_if(control.clone(), slot, ends).await;
        let mut state = self.0.borrow_mut();
        state.visited.clear();
        let State { deferred, pending, .. } = &mut *state;
        for interface in deferred.extract_if(|interface| !pending.contains_key(interface)) {
            control.room_mut::<Acls>().reflect(interface, true);
        }
        true
    }
    /// Visits of all sessions so far.
    #[cfg(test)]
    pub fn visits(&self) -> usize {
        self.0.borrow().visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AclInterface, AclNumber};
    use crate::rules::tests::daemon;
    use quiver_interface::InterfaceName;
    use quiver_session::key::{Formats as KeyFormats, KeyFormat};
    use quiver_session::listing::ip4_end;
    use quiver_testkit::daemon::Daemon;
    use quiver_testkit::packet::Packet;

    fn at(interface: &str) -> AclInterface {
        let (interface, input, output) = (InterfaceName(interface.into()), vec![AclNumber(0)], vec![AclNumber(1)]);
        AclInterface { interface, input, output }
    }

    fn set(daemon: &Daemon, interface: &str, has_lists: bool) {
        let at = at(interface);
        daemon.control().assign(&at.interface.clone(), has_lists.then_some(at)).expect("it is there");
    }

    fn reflects(daemon: &Daemon, interface: u32) -> bool {
        daemon.control().room::<Acls>().current().reflects(interface)
    }

    /// A router of two interfaces; the lists of the first one let replies pass, and nothing else.
    fn router() -> Daemon {
        let mut daemon = daemon("");
        daemon.configure(
            "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
             create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
             set interface state pg0 up
             set interface state pg1 up
             set interface ip address pg0 10.0.0.1/24
             set interface ip address pg1 10.0.1.1/24
             ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
             ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
             set acl-plugin acl permit+reflect proto 17, permit
             set acl-plugin acl deny
             set acl-plugin interface pg0 input acl 0
             set acl-plugin interface pg0 output acl 1",
        );
        daemon.advance(std::time::Duration::from_secs(5)).expect("it settles");
        daemon.sent();
        daemon
    }

    /// Whether a packet of a flow passes: from the first interface, or its reply.
    fn passes(daemon: &mut Daemon, is_reply: bool) -> bool {
        let (port, text) = match is_reply {
            false => ("pg0", "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.1.2 ttl 9 / udp 7 > 9"),
            true => ("pg1", "eth 02:00:00:00:00:12 > 02:00:00:00:00:a1 / ip4 10.0.1.2 > 10.0.0.2 ttl 9 / udp 9 > 7"),
        };
        let packet = format!("{text} / payload 18").parse::<Packet>().expect("a packet");
        daemon.send(port, &packet.to_bytes()).expect("it is up");
        daemon.settle().expect("it settles");
        daemon.sent().len() == 1
    }

    #[test]
    fn all_ends_of_a_turn_are_one_visit() {
        let mut daemon = router();
        for vlan in 1..=100 {
            daemon.configure(&format!("create sub-interfaces pg0 {vlan}"));
            set(&daemon, &format!("pg0.{vlan}"), true);
        }
        let visits = |daemon: &Daemon| daemon.control().room::<Ends>().visits();
        let before = visits(&daemon);
        (1..=100).for_each(|vlan| set(&daemon, &format!("pg0.{vlan}"), false));
        daemon.settle().expect("it settles");
        assert_eq!(visits(&daemon), before + 1);
        // What comes later is a visit of its own.
        set(&daemon, "pg0", false);
        daemon.settle().expect("it settles");
        assert_eq!(visits(&daemon), before + 2);
    }

    #[test]
    fn who_gets_a_number_again_meets_no_session_of_before() {
        let mut daemon = router();
        assert!(reflects(&daemon, 1));
        assert!(passes(&mut daemon, false) && passes(&mut daemon, true));
        for is_gone in [true, false] {
            // As when an interface goes and another one comes, in one change.
            set(&daemon, "pg0", false);
            set(&daemon, "pg0", true);
            assert!(!reflects(&daemon, 1), "its sessions have not ended");
            if is_gone {
                set(&daemon, "pg0", false);
            }
            daemon.settle().expect("it settles");
            assert_eq!(reflects(&daemon, 1), !is_gone);
            set(&daemon, "pg0", true);
            assert!(!passes(&mut daemon, true), "the session has ended");
            assert!(passes(&mut daemon, false) && passes(&mut daemon, true));
        }
        // A list that begins to reflect later waits as well.
        daemon.configure("set acl-plugin acl index 0 permit");
        set(&daemon, "pg0", false);
        set(&daemon, "pg0", true);
        daemon.configure("set acl-plugin acl index 0 permit+reflect proto 17");
        daemon.settle().expect("it settles");
        assert!(reflects(&daemon, 1));
        assert!(!passes(&mut daemon, true));
    }

    #[test]
    fn a_task_that_is_dropped_leaves_nothing_pending() {
        let daemon = router();
        let ends = Ends::default();
        let running = Running(ends.clone());
        ends.0.borrow_mut().is_running = true;
        let format = KeyFormat { name: "test", show: ip4_end, is_ip4: true };
        let format = daemon.control().room_mut::<KeyFormats>().add(format).expect("there is room");
        let refused = Ending::Refused([vec![], vec![]]);
        for ending in [refused.clone(), Ending::All, refused] {
            ends.end(daemon.control(), 1, ending, (0, Formats { ip4: format, ip6: format }));
        }
        assert_eq!(ends.0.borrow().pending.get(&1), Some(&Ending::All));
        drop(running);
        let state = ends.0.borrow();
        assert!(state.pending.is_empty() && !state.is_running);
    }
}

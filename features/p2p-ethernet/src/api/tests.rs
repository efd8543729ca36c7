//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;

const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

fn add(parent: u32, subif_id: u32, remote_mac: MacAddress) -> P2pEthernetAdd {
    P2pEthernetAdd { parent_if_index: InterfaceIndex(parent), subif_id, remote_mac }
}

/// A request that may take turns of its own, of which it needs none here.
fn delete(caller: &mut Caller, parent: u32, remote_mac: MacAddress) -> Result<(), Retval> {
    let request = P2pEthernetDel { parent_if_index: InterfaceIndex(parent), remote_mac };
    let mut answered = std::pin::pin!(caller.waiting(&request));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..100 {
        if let std::task::Poll::Ready(answer) = answered.as_mut().poll(&mut context) {
            return answer.map(drop);
        }
    }
    panic!("one part is deleted at once");
}

#[test]
fn parts_come_and_go() {
    let daemon = quiver_scenarios::daemon("create packet-generator interface pg0\ncreate loopback interface");
    let mut caller = Caller::connect(daemon.control());
    let part = caller.request(&add(1, 7, STATION)).expect("new").sw_if_index;
    let name = |index: InterfaceIndex| quiver_interface::api::name(daemon.control(), index).map(|name| name.0);
    assert_eq!(name(part).expect("it is there"), "pg0.7");
    for (request, retval) in [
        (add(1, 8, STATION), Retval::SUBIF_ALREADY_EXISTS),
        (add(1, 7, MacAddress([2, 0, 0, 0, 0, 2])), Retval::SUBIF_ALREADY_EXISTS),
        (add(1, 9, MacAddress([1, 0, 0, 0, 0, 2])), Retval::INVALID_VALUE),
        (add(99, 9, MacAddress([2, 0, 0, 0, 0, 2])), Retval::INVALID_SW_IF_INDEX),
    ] {
        assert_eq!(caller.request(&request).map(drop), Err(retval), "{request:?}");
    }
    for nested in [part.0, 2] {
        assert!(caller.request(&add(nested, 1, STATION)).is_err(), "{nested} has no wire");
    }
    assert_eq!(delete(&mut caller, 1, MacAddress([2, 0, 0, 0, 0, 2])), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(delete(&mut caller, 1, STATION), Ok(()));
    assert!(name(part).is_err());
}

//! The command, with answers that come late.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::cli::Output;
use quiver_scenarios::daemon;

#[test]
fn the_last_answer_may_take_longer_than_the_interval() {
    let mut daemon = daemon(
        "create packet-generator interface pg0
        set interface state pg0 up
        set interface ip address pg0 10.0.0.1/24
        ip neighbor pg0 10.0.0.2 02:00:00:00:00:02",
    );
    daemon.sent();
    let (control, reply) = (daemon.control().clone(), Rc::new(RefCell::new(None)));
    control.spawn("command", {
        let (control, reply) = (control.clone(), reply.clone());
        async move {
            let output = Output::default();
            let line = "ping 10.0.0.2 repeat 1 interval 0.001";
            *reply.borrow_mut() = Some(control.commands().run(&control, line, &output).await);
        }
    });
    daemon.advance(Duration::from_millis(500)).expect("it settles");
    assert!(reply.borrow().is_none(), "it waits");
    let (_, mut packet) = daemon.sent().pop().expect("a request");
    // Ethernet's addresses change places, and IPv4's; the type 0 makes an echo reply.
    packet[..12].rotate_left(6);
    packet[14 + 12..14 + 20].rotate_left(4);
    let message = &mut packet[14 + 20..];
    let sum = u16::from_be_bytes([message[2], message[3]]);
    let (sum, carry) = sum.overflowing_add(0x0800);
    message[0] = 0;
    message[2..4].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
    daemon.send("pg0", &packet).expect("it arrives");
    daemon.settle().expect("it settles");
    let reply = reply.take().expect("all answers came").expect("an answer came");
    assert_eq!(reply.json["received"], 1, "{}", reply.text);
}

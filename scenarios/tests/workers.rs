//! Several workers: the same results as with one.

use quiver_interface::{InterfaceName, RxQueueSettings};
use quiver_testkit::daemon::{Daemon, Rooms, Setup};

const ROOMS: Rooms = Rooms {
    register: |control| quiverd::features::register(control).map_err(|error| error.to_string()),
    answer: quiver_interface::Events::answer,
    send: quiver_pg::send,
    sent: quiver_pg::sent,
};

fn daemon(workers: usize) -> Daemon {
    Daemon::new(ROOMS, Setup { workers, buffers: 8192, ..Setup::default() }).expect("a daemon")
}

#[test]
fn placement_is_saved_and_comes_back() {
    let mut first = daemon(2);
    first.configure(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface rx-placement pg0 worker 1
         set interface rx-mode pg0 interrupt
         set interface rx-mode pg1 polling",
    );
    let saved = first.control().save().text;
    let mut second = daemon(2);
    second.control().apply("saved.yaml", &saved).expect("what was saved can be applied");
    assert_eq!(second.control().save().text, saved);
    let shown = |daemon: &mut Daemon| daemon.run("show interface rx-placement").expect("it can be shown").json;
    assert_eq!(shown(&mut second), shown(&mut first));
    assert_eq!(shown(&mut second)[0]["mode"], "interrupt");
    assert_eq!(shown(&mut second)[0]["worker"], 1);
    // Without its settings, a queue is where it was at first.
    second.control().delete::<RxQueueSettings>(&(InterfaceName("pg0".into()), 0)).expect("it has settings");
    assert_eq!((&shown(&mut second)[0]["mode"], &shown(&mut second)[0]["worker"]), (&"adaptive".into(), &0.into()));
    // A daemon with fewer workers says what does not fit.
    let error = daemon(1).control().apply("saved.yaml", &saved).expect_err("there is no worker 1");
    let error = format!("{error:?}");
    assert!(error.contains("there is no worker 1") && error.contains("worker"), "{error}");
}

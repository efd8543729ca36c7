//! The daemon's own rooms, for every test of a whole daemon: rooms' golden scenarios, and those in this crate's `tests`,
//! which cross rooms.

pub mod line;
pub mod state;
pub mod tunnels;
pub mod two_networks;

use std::time::Duration;

pub use quiver_testkit::daemon::Rooms;
use quiver_testkit::daemon::{Daemon, Setup};
/// All rooms as one, for [`rooms!`] with others behind them.
pub use quiverd::features as all;

/// All rooms of the daemon.
pub const ROOMS: Rooms = Rooms {
    register: |control| quiverd::features::register(control).map_err(|error| error.to_string()),
    answer: quiver_interface::Events::answer,
    send: quiver_pg::send,
    sent: quiver_pg::sent,
};

/// The same without copies of sent packets, for tests that do not look at them.
pub const UNSEEN: Rooms = Rooms { sent: |_| vec![], ..ROOMS };

/// A daemon with all rooms, configured by these lines.
///
/// # Panics
/// If a line is refused.
pub fn daemon(lines: &str) -> Daemon {
    let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("the rooms fit together");
    daemon.configure(lines);
    daemon
}

/// The same three seconds later: what interfaces say of themselves when they come up has gone.
///
/// # Panics
/// If a line is refused, or packets circle.
pub fn settled(lines: &str) -> Daemon {
    let mut daemon = daemon(lines);
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// Rooms of a test's choice: crates and modules with a `register` function, in the daemon's order. `quiver_interface` and
/// `quiver_pg`, or [`all`], are among them: the one hears the workers' bell, the other's interfaces are the way in and out. Behind
/// `without wires:` the generator may be missing: interfaces end in the system.
#[macro_export]
macro_rules! rooms {
    (@register $($room:ident),+) => {
        |control| {
            $($room::register(control).map_err(|error| format!("{}: {error}", stringify!($room)))?;)+
            Ok(())
        }
    };
    (without wires: $($room:ident),+ $(,)?) => {
        $crate::Rooms::without_wires($crate::rooms!(@register $($room),+), $crate::ROOMS.answer)
    };
    ($($room:ident),+ $(,)?) => {
        $crate::Rooms { register: $crate::rooms!(@register $($room),+), ..$crate::ROOMS }
    };
}

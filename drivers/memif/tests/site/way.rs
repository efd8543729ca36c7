//! A daemon with two interfaces, `A` and `B`, at the end of wires or of rings.

use std::time::Duration;

use quiver_testkit::daemon::{Daemon, Setup};

use super::path::Path;

/// An interface and what left by it.
pub type Sent = (String, Vec<u8>);

/// The daemon with its two interfaces: at the end of wires, or of rings.
pub enum Way {
    Frames(Daemon),
    Rings(Box<Path>),
}

impl Way {
    pub const KINDS: [&str; 3] = ["frames", "slave", "master"];

    pub fn new(kind: &str, setup: Setup, function: &str) -> Way {
        if kind != "frames" {
            return Way::Rings(Box::new(Path::new(setup, kind, &named(kind, function))));
        }
        let mut daemon = super::daemon_of(setup);
        for id in [0, 1] {
            daemon.configure(&format!("create packet-generator interface pg{id} hw-addr 02:00:00:00:aa:0{}", id + 1));
            daemon.configure(&format!("set interface state pg{id} up"));
        }
        daemon.configure(&named(kind, function));
        Way::Frames(daemon)
    }
    pub fn daemon(&mut self) -> &mut Daemon {
        match self {
            Way::Frames(daemon) => daemon,
            Way::Rings(path) => &mut path.daemon,
        }
    }
    /// Sends packets by one of the two; returns what came back.
    pub fn pass(&mut self, side: usize, packets: &[Vec<u8>]) -> Vec<Sent> {
        let tester = match self {
            Way::Frames(daemon) => &mut *daemon,
            Way::Rings(path) => &mut path.tester,
        };
        // What is down takes nothing.
        for packet in packets {
            let _ = tester.send(&format!("pg{side}"), packet);
        }
        match self {
            Way::Frames(daemon) => {
                daemon.advance(Duration::from_millis(3)).expect("it settles");
                daemon.sent()
            }
            Way::Rings(path) => {
                path.run(3);
                path.tester.sent()
            }
        }
    }
    pub fn finish(self) {
        match self {
            Way::Frames(daemon) => daemon.finish().expect("nothing has leaked"),
            Way::Rings(path) => path.finish(),
        }
    }
}

/// The interfaces' names in place of `A` and `B`.
pub fn named(kind: &str, text: &str) -> String {
    let (a, b) = if kind == "frames" { ("pg0", "pg1") } else { ("memif1/0", "memif2/0") };
    let word = |word: &str| match word.split_at_checked(1) {
        Some(("A", rest)) if rest.is_empty() || rest.starts_with('.') => format!("{a}{rest}"),
        Some(("B", rest)) if rest.is_empty() || rest.starts_with('.') => format!("{b}{rest}"),
        _ => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace)
        .map(|piece| {
            let bare = piece.trim_end();
            word(bare) + &piece[bare.len()..]
        })
        .collect()
}

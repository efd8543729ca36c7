//! Fuzz targets of the boundary to plugins. How to run: fuzz/README.md.
//!
//! The bytes are a program for `odd/odd.c`, a plugin that does whatever they say: odd tables, odd descriptions of nodes and
//! objects, odd columns, odd calls. What would be a wild pointer is left out: nobody could answer it.

use crate::built;

use crate::router::{self, FORWARDED, forward, said};
use quiver_engine::Dataplane;
use quiver_interface::Interfaces;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;
use std::path::Path;
use tempfile::TempDir;

/// Bytes of a program.
const PROGRAM_MAX: usize = 512;
/// First bytes of a program for a plugin that registers correctly: a node and a command, both named `odd`.
const REGISTERED: [u8; 2] = [0, 0];

/// The plugin, in a folder of its own.
struct Odd {
    folder: TempDir,
}

impl Odd {
    fn new() -> Odd {
        let folder = tempfile::tempdir().unwrap();
        built::odd(folder.path(), &folder.path().join("program"));
        Odd { folder }
    }
    /// A router, and the line that loads the plugin with this program.
    fn router(&self, program: &[u8]) -> (Daemon, String) {
        std::fs::write(self.folder.path().join("program"), program).unwrap();
        let library: &Path = &self.folder.path().join("odd.so");
        (router::without(1), format!("load plugin {}", library.display()))
    }
}

/// So that the targets below are known to reach what they are for.
#[test]
fn the_plugin_does_what_bytes_say() {
    let odd = Odd::new();
    // The first row takes an arc that there is not; what is between is not looked at by that.
    let (mut daemon, load) = odd.router(&[&REGISTERED[..], &[3], &[0; 10], &[255; 2]].concat());
    daemon.configure(&load);
    enable(&daemon);
    assert_eq!(forward(&mut daemon, &["ttl 9"]), [""; 0]);
    assert_eq!(daemon.drops()[&("odd", "plugin-failed")], 1);
}

/// Puts the node of a plugin that registers as it should onto the arc.
fn enable(daemon: &Daemon) {
    let a = daemon.control().room::<Interfaces>().id_of("a").expect("it is there").0;
    daemon.control().room_mut::<Dataplane>().enable("ip4-unicast", "odd", a, true).expect("both are there");
}

/// Whatever a plugin's table and its setup say, it is loaded, or refused by a sentence and nothing is left of it; what it
/// brings changes no forwarding by itself.
#[test]
fn tables() {
    let odd = Odd::new();
    bolero::check!().with_max_len(PROGRAM_MAX).for_each(|program: &[u8]| {
        let (mut daemon, load) = odd.router(program);
        let brought = |daemon: &mut Daemon| {
            let control = daemon.control().clone();
            let nodes: Vec<_> = {
                let dataplane = control.room::<Dataplane>();
                let graph = dataplane.graph();
                graph.nodes().map(|node| (graph.name(node), graph.arcs(node).len())).collect()
            };
            (
                nodes,
                said(daemon, "show commands"),
                said(daemon, "show features"),
                quiver_control::docs::schema(&control),
            )
        };
        let before = brought(&mut daemon);
        if let Err(error) = daemon.run(&load) {
            assert!(error.what.starts_with("plugins /"), "{error}");
            assert!(error.what.contains("path: plugin "), "{error}");
            assert_eq!(brought(&mut daemon), before, "{error}");
        }
        assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED]);
        said(&mut daemon, "show plugins counters verbose");
        daemon.finish().expect("nothing leaks");
    });
}

/// Whatever a node leaves in its columns, and whatever it calls meanwhile, workers go on and no buffer is lost; when it has
/// failed, or does nothing any more, packets are forwarded.
#[test]
fn columns() {
    let odd = Odd::new();
    bolero::check!().with_max_len(PROGRAM_MAX).for_each(|program: &[u8]| {
        let (mut daemon, load) = odd.router(&[&REGISTERED, program].concat());
        daemon.configure(&load);
        daemon.configure("trace add pg-input 2");
        enable(&daemon);
        for payload in [0, 18, 1400, 8000, 60] {
            let packet = format!("{} / payload {payload}", router::HEADERS);
            daemon.send("a", &packet.parse::<Packet>().expect("a packet").to_bytes()).expect("a is up");
        }
        daemon.settle().expect("nothing circles");
        daemon.sent();
        said(&mut daemon, "show trace");
        // One more call reads what is left of the program, and drops or fails if it must; then it is over.
        forward(&mut daemon, &["ttl 9"]);
        assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED]);
        daemon.finish().expect("nothing leaks");
    });
}

/// Whatever a command calls, it is answered, and the daemon runs on.
#[test]
fn calls() {
    let odd = Odd::new();
    bolero::check!().with_max_len(PROGRAM_MAX).for_each(|program: &[u8]| {
        let (mut daemon, load) = odd.router(&[&REGISTERED, program].concat());
        daemon.configure(&load);
        said(&mut daemon, "odd");
        daemon.settle().expect("nothing circles");
        for line in ["show graph", "show features", "show plugins"] {
            daemon.run(line).expect("it is answered");
        }
        daemon.finish().expect("nothing leaks");
    });
}

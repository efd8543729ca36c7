//! A client in Rust (`clients/rust`), with a quiverd that knows nothing of it.

#[path = "../../../../clients/rust/examples/interfaces.rs"]
pub mod interfaces;

#[path = "../../../../clients/rust/examples/tunnels.rs"]
mod tunnels;

use crate::quiverd::Daemon;
use quiver_client::{Client, ClientError};
use quiver_compat::Message;

/// VPP's message of this name has a field.
#[derive(Message)]
#[message(request)]
struct DeleteLoopback;

#[test]
fn the_example_configures_an_interface_and_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let _daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--api-socket").arg(&socket).args(["--buffers", "4096"]);
    });
    let mut said = vec![];
    interfaces::run(&socket, &mut said).expect("it does all that it says");
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "connected to quiver {version}\ninterface 1 is up and has 192.0.2.1/24\nthere are no others\n\
         interface 1 is deleted\n"
    );
    assert_eq!(String::from_utf8_lossy(&said), expected);

    // What is declared otherwise is known before it is sent.
    let mut client = Client::connect(&socket, "other").unwrap();
    let refused = client.request(&DeleteLoopback).map(|_| ()).unwrap_err();
    assert!(matches!(&refused, ClientError::Unknown(name) if name.starts_with("delete_loopback_")), "{refused}");
}

#[test]
fn the_example_creates_tunnels_and_says_what_they_took() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--api-socket").arg(&socket).args(["--buffers", "4096"]);
    });
    let mut said = vec![];
    tunnels::run(&socket, 100, Some(daemon.id()), &mut said).expect("they are new");
    let said = String::from_utf8_lossy(&said);
    assert!(said.starts_with("100 tunnels: ") && said.contains(" s of the daemon's CPU time\n"), "{said}");
    assert!(said.ends_with("the last one is there\n"), "{said}");
    let tunnels = daemon.run("show vxlan tunnel").expect("there are some");
    assert_eq!(tunnels.as_array().map(Vec::len), Some(100));
}

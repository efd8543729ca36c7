//! Namespaces and links carry packets, and only where they are joined.

use std::net::UdpSocket;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use quiver_netns::{Namespace, Program, World, bridge, veth};

type Test = fn(&World) -> Result<(), Failed>;

const TESTS: [(&str, Test); 5] = [
    ("veth_carries_datagrams", veth_carries),
    ("bridge_carries_datagrams", bridge_carries),
    ("namespaces_are_apart", apart),
    ("failures_name_the_command", failures),
    ("programs_end_with_their_value", programs),
];

pub fn trials() -> Vec<Trial> {
    let trial = |(name, _)| Trial::test(format!("links::{name}"), move || inside(name));
    TESTS.map(trial).into()
}

/// Runs a test in a world of its own.
fn inside(name: &str) -> Result<(), Failed> {
    let output = crate::again(name)?.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// The test of a name.
pub fn test(name: &str) -> Option<Test> {
    TESTS.into_iter().find(|(other, _)| *other == name).map(|(_, test)| test)
}

/// Sends one datagram from `one` to `other`'s address and returns what arrives there.
fn send(one: &Namespace, other: &Namespace, address: &str) -> Result<Vec<u8>, Failed> {
    let receiver = other.within(|| UdpSocket::bind((address, 7000)))??;
    receiver.set_read_timeout(Some(Duration::from_secs(2)))?;
    let sender = one.within(|| UdpSocket::bind("0.0.0.0:0"))??;
    sender.send_to(b"hello", (address, 7000))?;
    let mut buffer = [0; 16];
    let length = receiver.recv(&mut buffer)?;
    Ok(buffer[..length].to_vec())
}

fn veth_carries(world: &World) -> Result<(), Failed> {
    let (a, b) = (Namespace::add(world, "va")?, Namespace::add(world, "vb")?);
    veth((&a, "eth0"), (&b, "eth0"), 1500)?;
    a.ip("address add 10.0.0.1/24 dev eth0")?;
    b.ip("address add 10.0.0.2/24 dev eth0")?;
    assert_eq!(send(&a, &b, "10.0.0.2")?, b"hello");
    Ok(())
}

fn bridge_carries(world: &World) -> Result<(), Failed> {
    let (a, b, switch) = (Namespace::add(world, "ba")?, Namespace::add(world, "bb")?, Namespace::add(world, "bs")?);
    veth((&a, "eth0"), (&switch, "a"), 1500)?;
    veth((&b, "eth0"), (&switch, "b"), 1500)?;
    bridge(&switch, "br0", &["a", "b"], 1500)?;
    a.ip("address add 10.0.0.1/24 dev eth0")?;
    b.ip("address add 10.0.0.2/24 dev eth0")?;
    assert_eq!(send(&a, &b, "10.0.0.2")?, b"hello");
    switch.ip("link set br0 down")?;
    assert!(send(&a, &b, "10.0.0.2").is_err(), "the packet should have crossed the bridge");
    Ok(())
}

fn apart(world: &World) -> Result<(), Failed> {
    let (a, b) = (Namespace::add(world, "aa")?, Namespace::add(world, "ab")?);
    assert!(send(&a, &b, "127.0.0.1").is_err(), "nothing joins these namespaces");
    Ok(())
}

fn failures(world: &World) -> Result<(), Failed> {
    let a = Namespace::add(world, "fa")?;
    let error = a.ip("link set nowhere up").err().ok_or("a link that does not exist was set up")?;
    assert!(error.to_string().contains("ip link set nowhere up"), "{error}");
    Ok(())
}

fn programs(_world: &World) -> Result<(), Failed> {
    let program = Program::start(std::process::Command::new("sleep").arg("1000"))?;
    let id = Pid::from_raw(program.id().cast_signed());
    assert!(kill(id, None).is_ok());
    drop(program);
    assert!(kill(id, None).is_err());
    Ok(())
}

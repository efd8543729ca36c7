//! A loopback comes, has an address, is set up, and goes again.
//!
//! ```sh
//! cargo run -p quiver-client --example interfaces /run/vpp/api.sock
//! ```

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use quiver_client::{Client, ClientError};
use quiver_compat::types::{Address, AddressWithPrefix, IfStatusFlags, InterfaceIndex, Prefix};
use quiver_compat::{Message, Retval, Text};
use quiver_wire::MacAddress;

/// Which program is this?
#[derive(Message)]
#[message(request, reply = ShowVersionReply)]
struct ShowVersion;

/// This one.
#[derive(Message, Default)]
#[message(reply)]
struct ShowVersionReply {
    program: Text<32>,
    version: Text<32>,
    build_date: Text<32>,
    build_directory: Text<256>,
}

/// Tell me what becomes of interfaces.
#[derive(Message)]
#[message(request, events(SwInterfaceEvent))]
struct WantInterfaceEvents {
    enable_disable: u32,
    pid: u32,
}

/// The state of an interface, or that it is going.
#[derive(Message)]
#[message(event)]
struct SwInterfaceEvent {
    sw_if_index: InterfaceIndex,
    flags: IfStatusFlags,
    deleted: bool,
}

/// Create an interface without hardware.
#[derive(Message)]
#[message(request, reply = CreateLoopbackReply)]
struct CreateLoopback {
    mac_address: MacAddress,
}

/// It is this one.
#[derive(Message, Default)]
#[message(reply)]
struct CreateLoopbackReply {
    sw_if_index: InterfaceIndex,
}

/// Give an interface an address, or take it away.
#[derive(Message)]
#[message(request)]
struct SwInterfaceAddDelAddress {
    sw_if_index: InterfaceIndex,
    is_add: bool,
    del_all: bool,
    prefix: AddressWithPrefix,
}

/// Set an interface up or down.
#[derive(Message)]
#[message(request)]
struct SwInterfaceSetFlags {
    sw_if_index: InterfaceIndex,
    flags: IfStatusFlags,
}

/// Which addresses has an interface?
#[derive(Message)]
#[message(dump, details = IpAddressDetails)]
struct IpAddressDump {
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
}

/// One of them.
#[derive(Message)]
#[message(details)]
struct IpAddressDetails {
    sw_if_index: InterfaceIndex,
    prefix: AddressWithPrefix,
}

/// Delete it.
#[derive(Message)]
#[message(request)]
struct DeleteLoopback {
    sw_if_index: InterfaceIndex,
}

/// The program; what it says goes to `out`.
pub fn run(socket: &Path, out: &mut impl Write) -> Result<(), ClientError> {
    let mut client = Client::connect(socket, "interfaces")?;
    let version = client.request(&ShowVersion)?;
    writeln!(out, "connected to {} {}", version.program.as_str(), version.version.as_str())?;
    client.request(&WantInterfaceEvents { enable_disable: 1, pid: std::process::id() })?;

    let loopback = client.request(&CreateLoopback { mac_address: MacAddress::default() })?.sw_if_index;
    let address = Address::from(Ipv4Addr::new(192, 0, 2, 1));
    let prefix = AddressWithPrefix(Prefix { address, len: 24 });
    client.request(&SwInterfaceAddDelAddress { sw_if_index: loopback, is_add: true, del_all: false, prefix })?;
    client.request(&SwInterfaceSetFlags { sw_if_index: loopback, flags: IfStatusFlags::ADMIN_UP })?;
    while !client.event::<SwInterfaceEvent>()?.flags.has(IfStatusFlags::ADMIN_UP) {}
    for address in client.dump(&IpAddressDump { sw_if_index: loopback, is_ipv6: false })? {
        let Prefix { address, len } = address.prefix.0;
        writeln!(out, "interface {} is up and has {}/{len}", loopback.0, address.get())?;
    }

    let missing = SwInterfaceSetFlags { sw_if_index: InterfaceIndex(1 << 30), flags: IfStatusFlags::default() };
    match client.request(&missing) {
        Err(ClientError::Refused { retval: Retval::INVALID_SW_IF_INDEX, .. }) => writeln!(out, "there are no others")?,
        Err(error) => return Err(error),
        Ok(_) => writeln!(out, "there is an interface {}", 1 << 30)?,
    }

    client.request(&DeleteLoopback { sw_if_index: loopback })?;
    while !client.event::<SwInterfaceEvent>()?.deleted {}
    writeln!(out, "interface {} is deleted", loopback.0)?;
    Ok(())
}

#[allow(dead_code, reason = "a test runs the program as a part of itself")]
fn main() -> Result<(), ClientError> {
    let socket = std::env::args_os().nth(1).unwrap_or_else(|| "/run/vpp/api.sock".into());
    run(socket.as_ref(), &mut std::io::stdout())
}

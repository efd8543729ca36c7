//! Programs with real sockets: they send packets by the daemon's, and have those that are punted for them.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::quiverd::{Daemon, wait};
use quiver_client::Client;
use quiver_compat::definition::{Field, Kind, Shape, Type};
use quiver_compat::types::{AddressFamily, IpProto};
use quiver_compat::wire::{Input, Malformed};
use quiver_compat::{Message, Text, Wire};

/// VPP's messages, as far as a program needs them that wants packets of UDP.
#[derive(Wire, Clone, Copy, Debug, Default)]
#[repr(u32)]
enum PuntType {
    #[default]
    #[value("PUNT_API_TYPE_L4")]
    L4 = 0,
    #[value("PUNT_API_TYPE_IP_PROTO")]
    IpProto = 1,
    #[value("PUNT_API_TYPE_EXCEPTION")]
    Exception = 2,
}
#[derive(Wire, Clone, Copy, Debug, Default)]
#[wire(name = "punt_l4")]
struct PuntL4 {
    af: AddressFamily,
    protocol: IpProto,
    port: u16,
}
#[derive(Wire, Clone, Copy, Debug, Default)]
#[wire(name = "punt_ip_proto")]
struct PuntIpProto {
    af: AddressFamily,
    protocol: IpProto,
}
#[derive(Wire, Clone, Copy, Debug, Default)]
#[wire(name = "punt_exception")]
struct PuntException {
    id: u32,
}
#[derive(Clone, Copy, Debug, Default)]
struct PuntUnion(PuntL4);
impl Wire for PuntUnion {
    fn of() -> Type {
        let field = |name: &str, of| Field { name: name.into(), of, shape: Shape::One };
        let (exception, l4) = (field("exception", PuntException::of()), field("l4", PuntL4::of()));
        Type::named("punt_union", Kind::Union(vec![exception, l4, field("ip_proto", PuntIpProto::of())]))
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Wire::take(input).map(PuntUnion)
    }
}
#[derive(Wire, Clone, Copy, Debug, Default)]
#[wire(name = "punt")]
struct PuntWhat {
    r#type: PuntType,
    punt: PuntUnion,
}
/// Give me packets.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PuntSocketRegisterReply)]
struct PuntSocketRegister {
    header_version: u32,
    punt: PuntWhat,
    pathname: Text<108>,
}
/// They come; others are sent there.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct PuntSocketRegisterReply {
    pathname: Text<108>,
}

/// UDP from 10.0.0.9 to port 1111 of 10.0.0.1. Checksums of local packets are not checked.
const PACKET: [u8; 32] = [
    0x45, 0, 0, 32, 0, 0, 0, 0, 1, 17, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1, 0, 9, 0x04, 0x57, 0, 12, 0, 0, b'p', b'i', b'n',
    b'g',
];

#[test]
fn a_program_sends_a_packet_and_has_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let [own, programs, api] = ["punt", "program", "api"].map(|name| folder.path().join(name));
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--no-state").arg("--api-socket").arg(&api).arg("--punt-socket").arg(&own);
    });
    let run = |line: &str| daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    run("create loopback interface");
    run("set interface state loop0 up");
    run("set interface ip address loop0 10.0.0.1/24");
    let punt = PuntUnion(PuntL4 { af: AddressFamily::Ip4, protocol: IpProto::UDP, port: 1111 });
    let punt = PuntWhat { r#type: PuntType::L4, punt };
    let pathname = programs.display().to_string().as_str().into();
    let mut client = Client::connect(&api, "program").unwrap();
    let told = client.request(&PuntSocketRegister { header_version: 1, punt, pathname }).unwrap();
    assert_eq!(told.pathname.as_str(), own.display().to_string(), "where programs send to");
    let refused = daemon.run(&format!("punt socket register udp 1112 socket {}", own.display()));
    assert!(refused.is_err_and(|error| error.contains("quiverd itself")), "it would send to itself");

    let socket = UnixDatagram::bind(&programs).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let send = |interface: u32, action: u32, packet: &[u8]| {
        let datagram = [&interface.to_ne_bytes()[..], &action.to_ne_bytes(), packet].concat();
        assert_eq!(socket.send_to(&datagram, &own).unwrap(), datagram.len());
    };
    send(1, 1, &PACKET);
    let mut datagram = [0; 2048];
    let length = socket.recv(&mut datagram).unwrap();
    let front = [&1u32.to_ne_bytes()[..], &[0; 16], &[8, 0]].concat();
    assert_eq!(datagram[..length], [&front[..], &PACKET].concat(), "a frame that says only what it carries");

    // A program that sends faster than workers take waits, and loses nothing.
    (0..200).for_each(|_| send(1, 7, &PACKET));
    send(1, 1, &PACKET);
    assert_eq!(socket.recv(&mut datagram).unwrap(), length);
    wait("it is dropped by name", || {
        let errors = run("show errors").to_string();
        errors.contains("punt-socket-rx") && errors.contains("unknown-action") && errors.contains("200")
    });
    daemon.stop();
    assert!(!own.exists(), "its socket is left behind");
}

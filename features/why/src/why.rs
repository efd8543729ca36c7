//! `why`: what would become of a packet.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::{Dataplane, RehearsalError};
use quiver_interface::{Interface, InterfaceName, Interfaces};
use quiver_wire::{IpProtocol, MacAddress};

use crate::tuple::{self, Flow};
use crate::way::PacketPath;

/// Bytes of the shortest frame that a link carries, without its checksum (IEEE 802.3, 4A.4.2).
const FRAME_MIN: usize = 60;
/// Bytes of a frame at most.
const FRAME_MAX: usize = 9216;
/// The sender of frames whose sender nobody named; locally administered.
const SOMEBODY: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// Hops that a packet has left if nobody says (IANA "ip-parameters").
const HOPS: u8 = 64;

pub(crate) fn register(control: &Control) {
    let help = "Trace a hypothetical frame node by node, with the deciding objects; nothing is sent.";
    let bytes = Command::waiting("why <packet:text> on <interface>", help, of_bytes);
    control.commands().add(bytes.argument("packet", "frame in hexadecimal, from the destination MAC address on"));
    let help = "Trace a hypothetical packet of a flow, as for a frame.";
    let grammar = "why <protocol:text> <source:text> <destination:text> on <interface> \
                   {to <to:mac>|from <from:mac>|hops <hops:u8>}";
    let flow = Command::waiting(grammar, help, of_flow);
    let flow = flow.argument("protocol", "tcp, udp, icmp, icmp6 or a number");
    let flow = flow.argument("source", "an address, with a port as 192.0.2.1:80 or [2001:db8::1]:80");
    let flow = flow.argument("destination", "destination address, with a port as for the source");
    let flow = flow.argument("to", "destination MAC address; default: the interface's");
    let flow = flow.argument("from", "source MAC address; default 02:00:00:00:00:01");
    control.commands().add(flow.argument("hops", "TTL or hop limit (default 64)"));
}

/// The interface that is to receive the packet.
fn interface(control: &Control, matches: &Matches) -> Result<Interface, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let interfaces = control.room::<Interfaces>();
    let unknown = || CommandError::new(format!("there is no interface `{}`", name.0)).at(matches.place("interface"));
    interfaces.find(&name.0).cloned().ok_or_else(unknown)
}

async fn of_bytes(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let text: String = matches.get("packet")?;
    let wrong = |problem: String| CommandError::new(problem).at(matches.place("packet"));
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b':' | b' ' | b'.' | b'-')).collect();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = digits.iter().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && !digits.is_empty());
    let digits = digits.ok_or_else(|| {
        wrong(format!("`{text}` is no packet: write its bytes in hexadecimal, two digits each, or a flow: `why tcp ADDRESS:PORT ADDRESS:PORT on INTERFACE`"))
    })?;
    let frame: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if frame.len() > FRAME_MAX {
        return Err(wrong(format!("the packet has {} bytes; give {FRAME_MAX} at most", frame.len())));
    }
    explain(&control, &interface(&control, &matches)?, frame, vec![]).await
}

async fn of_flow(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let endpoint = |name| {
        let text: String = matches.get(name)?;
        tuple::endpoint(&text).map_err(|error| CommandError::new(error.to_string()).at(matches.place(name)))
    };
    let protocol: String = matches.get("protocol")?;
    let protocol = protocol.parse::<IpProtocol>();
    let protocol = protocol.map_err(|error| CommandError::new(error.to_string()).at(matches.place("protocol")))?;
    let (source, destination) = (endpoint("source")?, endpoint("destination")?);
    let interface = interface(&control, &matches)?;
    let flow = Flow { protocol, source, destination, hops: matches.find("hops")?.unwrap_or(HOPS) };
    let (from, to) = (matches.find("from")?.unwrap_or(SOMEBODY), matches.find("to")?.unwrap_or(interface.mac));
    let frame = tuple::frame(&flow, from, to).map_err(|error| CommandError::new(error.to_string()))?;
    // Rules and hashes look at ports, so nobody should have to guess which were looked at.
    let has_ports = matches!(protocol, IpProtocol::TCP | IpProtocol::UDP);
    let without = [source, destination].into_iter().filter(|end| has_ports && end.port() == 0);
    let notes = without.map(|end| format!("No port was said of {}: it is 0.", end.ip())).collect();
    explain(&control, &interface, frame, notes).await
}

async fn explain(
    control: &Control,
    interface: &Interface,
    mut frame: Vec<u8>,
    mut notes: Vec<String>,
) -> Result<Reply, CommandError> {
    frame.resize(frame.len().max(FRAME_MIN), 0);
    let way =
        PacketPath::of(control, interface.id, &frame).await.map_err(|error| refused(control, interface, &error))?;
    if !control.room::<Interfaces>().is_usable(interface.id) {
        notes.push(format!("{} is down: nothing comes from it now.", interface.name));
    }
    let head = format!("A frame of {} bytes from {}: {}.", frame.len(), interface.name, way.summary());
    let text = [&notes[..], &[head, String::new(), way.table().to_text()]].concat().join("\n");
    let mut json = way.to_json();
    json["interface"] = interface.name.as_str().into();
    json["length"] = frame.len().into();
    json["notes"] = notes.into();
    Ok(Reply::new(text, json))
}

fn refused(control: &Control, interface: &Interface, error: &RehearsalError) -> CommandError {
    let whole = interface.parent.filter(|_| control.room::<Dataplane>().parts().contains(interface.id.0));
    let name = &interface.name;
    CommandError::new(match (error, whole) {
        (RehearsalError::NoQueue, Some(whole)) => {
            let whole = control.room::<Interfaces>().name(whole);
            format!("`{whole}` would not give `{name}` this frame: give it as `{whole}` receives it, on `{whole}`")
        }
        (RehearsalError::NoQueue, None) => {
            format!("`{name}` receives nothing by itself: {error}; ask at one that does")
        }
        _ => error.to_string(),
    })
}

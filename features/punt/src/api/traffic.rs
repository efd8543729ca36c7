//! The messages of `punt.api`: what is punted, and which programs have it.

use quiver_compat::definition::{Field, Kind, Shape, Type};
use quiver_compat::types::{AddressFamily, IpProto};
use quiver_compat::wire::{Input, Malformed};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::{Control, Object};
use quiver_ip::api::by_family;
use quiver_wire::{IpProtocol, V4, V6};

use crate::delivery::server;
use crate::family::Punted;
use crate::reason::{PuntReason as ByReason, Reason};
use crate::traffic::{Punt, Punts};

pub(super) fn register(control: &Control) {
    quiver_compat::add(control, "punt", (2, 2, 1), |file| {
        file.request(|control, request: SetPunt| match what(&request.punt)? {
            What::Port(is_ip6, key) => by_family!(is_ip6, set_port(control, key, request.is_add)),
            What::Reason(reason) => set(control, ByReason::new(reason), request.is_add),
        });
        file.request(|control, request: PuntSocketRegister| {
            let socket: Option<String> = Some(request.pathname.as_str().into());
            match what(&request.punt)? {
                What::Port(is_ip6, key) => by_family!(is_ip6, register_socket(control, key, socket))?,
                What::Reason(reason) => control.put(ByReason { reason, socket })?,
            }
            Ok(PuntSocketRegisterReply { pathname: server(control).as_str().into() })
        });
        file.request(|control, request: PuntSocketDeregister| match what(&request.punt)? {
            What::Port(is_ip6, key) => by_family!(is_ip6, deregister_port(control, key)),
            What::Reason(reason) => deregister::<ByReason>(control, &reason),
        });
        file.dump(|control, request: PuntSocketDump| {
            let all = details::<V4>(control, request.r#type).chain(details::<V6>(control, request.r#type));
            let by_reason = (request.r#type == PuntType::Exception).then(|| details_by_reason(control));
            all.chain(by_reason.into_iter().flatten())
        });
        file.dump(|_, request: PuntReasonDump| {
            let wanted = request.reason.name;
            let details = |reason: Reason| {
                let reason = PuntReason { id: reason.number(), name: reason.to_string() };
                (wanted.is_empty() || wanted == reason.name).then_some(PuntReasonDetails { reason })
            };
            Reason::ALL.into_iter().filter_map(details).collect::<Vec<_>>()
        });
    });
}

/// Selector of punted packets.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum PuntType {
    /// By a protocol with ports, and a port.
    #[default]
    #[value("PUNT_API_TYPE_L4")]
    L4 = 0,
    /// By a protocol.
    #[value("PUNT_API_TYPE_IP_PROTO")]
    IpProto = 1,
    /// By a reason.
    #[value("PUNT_API_TYPE_EXCEPTION")]
    Exception = 2,
}

/// Packets of a protocol with ports, for a port; 65535 stands for all.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "punt_l4")]
pub(super) struct PuntL4 {
    pub af: AddressFamily,
    pub protocol: IpProto,
    pub port: u16,
}

/// Packets of a protocol.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "punt_ip_proto")]
pub(super) struct PuntIpProto {
    pub af: AddressFamily,
    pub protocol: IpProto,
}

/// Packets that are punted for a reason.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "punt_exception")]
pub(super) struct PuntException {
    pub id: u32,
}

/// The bytes of a description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PuntUnion(pub [u8; 4]);

impl Wire for PuntUnion {
    fn of() -> Type {
        let field = |name: &str, of| Field { name: name.into(), of, shape: Shape::One };
        let fields = vec![
            field("exception", PuntException::of()),
            field("l4", PuntL4::of()),
            field("ip_proto", PuntIpProto::of()),
        ];
        Type::named("punt_union", Kind::Union(fields))
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Wire::take(input).map(PuntUnion)
    }
}

/// Which packets are meant.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "punt")]
pub(super) struct PuntWhat {
    pub r#type: PuntType,
    pub punt: PuntUnion,
}

/// A reason for which packets are punted.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PuntReason {
    pub id: u32,
    pub name: String,
}

/// Enables or disables punting of packets by protocol, port or reason.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SetPunt {
    pub is_add: bool,
    pub punt: PuntWhat,
}

/// Sends punted packets to the datagram socket at `pathname`. Each has an 8-byte header: interface index and action
/// 0.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PuntSocketRegisterReply)]
pub(super) struct PuntSocketRegister {
    pub header_version: u32,
    pub punt: PuntWhat,
    pub pathname: Text<108>,
}

/// Path of the daemon's socket for packets from the program; empty if there is none.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct PuntSocketRegisterReply {
    pub pathname: Text<108>,
}

/// Dumps the punt sockets of a type: by port, protocol or reason.
#[derive(Message, Clone, Debug)]
#[message(dump, details = PuntSocketDetails)]
pub(super) struct PuntSocketDump {
    pub r#type: PuntType,
}

/// Describes one punt socket: the packets it gets and its path.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct PuntSocketDetails {
    pub punt: PuntWhat,
    pub pathname: Text<108>,
}

/// Stops sending punted packets to a socket.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct PuntSocketDeregister {
    pub punt: PuntWhat,
}

/// Dumps the punt reason of a name, or all punt reasons.
#[derive(Message, Clone, Debug)]
#[message(dump, details = PuntReasonDetails)]
pub(super) struct PuntReasonDump {
    pub reason: PuntReason,
}

/// Describes one punt reason: its id and its name.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct PuntReasonDetails {
    pub reason: PuntReason,
}

/// Port in messages that selects all ports.
const ALL_PORTS: u16 = u16::MAX;

/// Meaning of a selector.
enum What {
    /// Packets of a family (IPv6 or not), a protocol and a port.
    Port(bool, (u8, u16)),
    /// Packets punted for this reason.
    Reason(Reason),
}

fn what(punt: &PuntWhat) -> Result<What, Refusal> {
    let wrong = |what: &str| Refusal::new(Retval::INVALID_VALUE, format!("punt: {what}"));
    let input = &mut Input::new(&punt.punt.0);
    let malformed = |error: Malformed| wrong(&error.to_string());
    let (af, protocol, port) = match punt.r#type {
        PuntType::L4 => {
            let PuntL4 { af, protocol, port } = PuntL4::take(input).map_err(malformed)?;
            let has_ports = [IpProtocol::UDP.0, IpProtocol::TCP.0].contains(&protocol.0);
            match port {
                _ if !has_ports => return Err(wrong("the protocol has no ports that are known; name UDP or TCP")),
                0 => return Err(wrong("port 0 is reserved; 65535 selects all ports")),
                ALL_PORTS => (af, protocol, 0),
                port => (af, protocol, port),
            }
        }
        PuntType::IpProto => {
            let PuntIpProto { af, protocol } = PuntIpProto::take(input).map_err(malformed)?;
            (af, protocol, 0)
        }
        PuntType::Exception => {
            let PuntException { id } = PuntException::take(input).map_err(malformed)?;
            let none = || format!("punt.exception.id: there is no reason {id}; punt_reason_dump tells all");
            let reason = Reason::of_number(id).ok_or_else(|| Refusal::new(Retval::NO_SUCH_ENTRY, none()));
            return reason.map(What::Reason);
        }
    };
    Ok(What::Port(af == AddressFamily::Ip6, (protocol.0, port)))
}

/// A punt object, with or without a program's socket.
trait ForPrograms: Object {
    fn socket(&self) -> Option<&str>;
}
impl<F: Punted> ForPrograms for Punt<F> {
    fn socket(&self) -> Option<&str> {
        self.socket.as_deref()
    }
}
impl ForPrograms for ByReason {
    fn socket(&self) -> Option<&str> {
        self.socket.as_deref()
    }
}

/// Has packets be punted to nobody, or no more.
fn set<P: ForPrograms>(control: &Control, punt: P, is_add: bool) -> Result<(), Refusal> {
    let running = control.objects().get::<P>(&punt.key());
    match running.map(|running| running.socket().is_some()) {
        None if is_add => Ok(control.put(punt)?),
        Some(false) if !is_add => Ok(control.delete::<P>(&punt.key())?),
        // As VPP: it is so already, or a socket has them.
        _ => Ok(()),
    }
}

fn set_port<F: Punted>(control: &Control, key: (u8, u16), is_add: bool) -> Result<(), Refusal> {
    set(control, Punt::<F>::new(key.0, key.1), is_add)
}

fn register_socket<F: Punted>(control: &Control, key: (u8, u16), socket: Option<String>) -> Result<(), Refusal> {
    Ok(control.put(Punt::<F> { socket, ..Punt::new(key.0, key.1) })?)
}

fn deregister<P: ForPrograms>(control: &Control, key: &P::Key) -> Result<(), Refusal> {
    match control.objects().get::<P>(key) {
        Some(punt) if punt.socket().is_some() => Ok(control.delete::<P>(key)?),
        // As VPP.
        _ => Ok(()),
    }
}

fn deregister_port<F: Punted>(control: &Control, key: (u8, u16)) -> Result<(), Refusal> {
    deregister::<Punt<F>>(control, &key)
}

fn details_by_reason(control: &Control) -> impl Iterator<Item = Option<PuntSocketDetails>> + use<> {
    control.walk::<ByReason>().map(|punt| {
        let pathname = punt.socket.as_deref()?.into();
        let what = PuntUnion(punt.reason.number().to_be_bytes());
        Some(PuntSocketDetails { punt: PuntWhat { r#type: PuntType::Exception, punt: what }, pathname })
    })
}

fn details<F: Punted>(control: &Control, wanted: PuntType) -> impl Iterator<Item = Option<PuntSocketDetails>> + use<F> {
    let control = control.clone();
    // In the order in which they were registered: clients of VPP count on it.
    Punts::<F>::walk(&control.clone()).map(move |key| {
        let punt = control.objects().get::<Punt<F>>(&key)?;
        let pathname = punt.socket.as_deref()?.into();
        let what = describe(&punt);
        (what.r#type == wanted).then_some(PuntSocketDetails { punt: what, pathname })
    })
}

fn describe<F: Punted>(punt: &Punt<F>) -> PuntWhat {
    let af = if F::VERSION == 6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
    let protocol = IpProto(punt.protocol);
    let mut bytes = vec![];
    let r#type = match IpProtocol(punt.protocol) {
        IpProtocol::UDP | IpProtocol::TCP => {
            PuntL4 { af, protocol, port: if punt.port == 0 { ALL_PORTS } else { punt.port } }.put(&mut bytes);
            PuntType::L4
        }
        _ => {
            PuntIpProto { af, protocol }.put(&mut bytes);
            PuntType::IpProto
        }
    };
    bytes.resize(4, 0);
    PuntWhat { r#type, punt: PuntUnion(bytes.try_into().unwrap_or_default()) }
}

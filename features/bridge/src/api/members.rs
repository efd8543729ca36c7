//! Messages about interfaces of layer 2: domains, cross-connects, and what they let happen.

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Wire, flags};
use quiver_control::{Control, one_by_one};
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, InterfaceName};

use crate::bridges::Bridges;
use crate::objects::{DOMAIN_ID_MAX, DomainId, Layer2Interface};
use crate::set::{join, leave};

/// VPP's bits of features of layer 2 on the way in: frames that nobody wants are dropped; they always are.
const DROP: u32 = 1;
/// All goes to the peer of a cross-connect.
const CONNECT: u32 = 1 << 1;
/// Frames to groups go to all members.
pub(super) const FLOOD: u32 = 1 << 2;
/// ARP and neighbour discovery are answered.
pub(super) const ARP_TERM: u32 = 1 << 4;
/// Frames to unknown addresses do.
pub(super) const UNKNOWN: u32 = 1 << 5;
/// Frames to known addresses go to their interface only.
pub(super) const FORWARD: u32 = 1 << 7;
/// Addresses are learned.
pub(super) const LEARN: u32 = 1 << 9;
/// On the way out: the spanning tree has blocked the interface.
const STP_BLOCKED: u32 = 1 << 8;
/// Its line counts as down.
const LINE_DOWN: u32 = 1 << 9;

/// A number that domains can have.
pub(super) fn checked(id: u32) -> Result<u32, Refusal> {
    match id {
        1..=DOMAIN_ID_MAX => Ok(id),
        0 => Err(Refusal::new(Retval::BD_NOT_MODIFIABLE, "bd_id: 0 is none that clients change")),
        _ => {
            Err(Refusal::new(Retval::BD_ID_EXCEED_MAX, format!("bd_id: {id} is out of range; at most {DOMAIN_ID_MAX}")))
        }
    }
}

/// Which member of a bridge domain an interface is.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum L2PortType {
    /// One like others.
    #[value("L2_API_PORT_TYPE_NORMAL")]
    Normal = 0,
    /// The virtual interface, through which the domain meets layer 3.
    #[value("L2_API_PORT_TYPE_BVI")]
    Bvi = 1,
    /// The one that gets frames to unknown addresses.
    #[value("L2_API_PORT_TYPE_UU_FWD")]
    UuFwd = 2,
}

/// Adds an interface to a bridge domain, or returns it to layer-3 mode.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetL2Bridge {
    pub rx_sw_if_index: InterfaceIndex,
    pub bd_id: u32,
    pub port_type: L2PortType,
    pub shg: u8,
    #[default(true)]
    pub enable: bool,
}

/// Cross-connects an interface: all that it receives leaves by the other one. Disabling returns it to layer-3 mode.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetL2Xconnect {
    pub rx_sw_if_index: InterfaceIndex,
    pub tx_sw_if_index: InterfaceIndex,
    #[default(true)]
    pub enable: bool,
}

/// Adds or deletes a cross-connect, as `sw_interface_set_l2_xconnect` does.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2PatchAddDel {
    pub rx_sw_if_index: InterfaceIndex,
    pub tx_sw_if_index: InterfaceIndex,
    #[default(true)]
    pub is_add: bool,
}

/// Dumps all layer-2 cross-connects.
#[derive(Message, Clone, Debug)]
#[message(dump, details = L2XconnectDetails)]
pub(super) struct L2XconnectDump;

/// Describes one cross-connect: the receiving and the transmitting interface.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct L2XconnectDetails {
    pub rx_sw_if_index: InterfaceIndex,
    pub tx_sw_if_index: InterfaceIndex,
}

flags! {
    /// Features of a member of a bridge domain.
    pub(super) struct L2IntfFeatFlags(u32) as "l2_intf_feat_flags" Enum {
        /// No feature.
        NONE = 0 => "L2_INTF_FEAT_NONE",
        /// MAC learning.
        LEARN = 1 => "L2_INTF_FEAT_LEARN",
        /// Forwarding of unicast frames to the interface of a known address.
        FWD = 2 => "L2_INTF_FEAT_FWD",
        /// Flooding of multicast and broadcast frames.
        FLOOD = 4 => "L2_INTF_FEAT_FLOOD",
        /// Flooding of unicast frames to unknown addresses.
        UU_FLOOD = 8 => "L2_INTF_FEAT_UU_FLOOD",
        /// Replies to ARP requests for known addresses.
        ARP_TERM = 16 => "L2_INTF_FEAT_ARP_TERM",
        /// Forwarding of ARP requests for unknown addresses to one interface.
        ARP_UFWD = 32 => "L2_INTF_FEAT_ARP_UFWD",
    }
}

/// Asks for the flags of a bridge domain member.
#[derive(Message, Clone, Debug)]
#[message(request, reply = L2InterfaceFeatFlagsGetReply)]
pub(super) struct L2InterfaceFeatFlagsGet {
    pub sw_if_index: InterfaceIndex,
}

/// Flags of the bridge domain member.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct L2InterfaceFeatFlagsGetReply {
    pub flags: L2IntfFeatFlags,
}

/// Sets or clears flags of a bridge domain member.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2InterfaceFeatFlagsSet {
    pub sw_if_index: InterfaceIndex,
    pub is_set: bool,
    pub flags: L2IntfFeatFlags,
}

/// Asks for the layer-2 feature bits of an interface.
#[derive(Message, Clone, Debug)]
#[message(request, reply = L2FlagsGetReply)]
pub(super) struct L2FlagsGet {
    pub sw_if_index: InterfaceIndex,
}

/// Layer-2 feature bits of the interface, for input and for output.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct L2FlagsGetReply {
    pub input_feature_bitmap: u32,
    pub output_feature_bitmap: u32,
}

/// Sets or clears layer-2 feature bits of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2FlagsSet {
    pub sw_if_index: InterfaceIndex,
    pub is_set: bool,
    pub input_feature_bitmap: u32,
    pub output_feature_bitmap: u32,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(bridge);
    file.request(|control, request: SwInterfaceSetL2Xconnect| {
        connect(control, request.rx_sw_if_index, request.tx_sw_if_index, request.enable)
    });
    file.request(|control, request: L2PatchAddDel| {
        connect(control, request.rx_sw_if_index, request.tx_sw_if_index, request.is_add)
    });
    file.dump(|control, _: L2XconnectDump| {
        let control = control.clone();
        one_by_one(move |last| {
            let (from, mode) = control.room::<Bridges>().mode_behind(last)?;
            let pair = |to: InterfaceId| L2XconnectDetails { rx_sw_if_index: from.into(), tx_sw_if_index: to.into() };
            Some((from, mode.peer().map(pair)))
        })
    });
    file.request(|control, request: L2InterfaceFeatFlagsGet| {
        let member = member(control, request.sw_if_index)?;
        let flag = |on, flag| if on { flag } else { L2IntfFeatFlags::NONE };
        let flags = flag(member.learn, L2IntfFeatFlags::LEARN)
            | flag(member.forward, L2IntfFeatFlags::FWD)
            | flag(member.flood, L2IntfFeatFlags::FLOOD)
            | flag(member.uu_flood, L2IntfFeatFlags::UU_FLOOD);
        Ok(L2InterfaceFeatFlagsGetReply { flags })
    });
    file.request(|control, request: L2InterfaceFeatFlagsSet| {
        let known = [
            (L2IntfFeatFlags::LEARN, LEARN),
            (L2IntfFeatFlags::FWD, FORWARD),
            (L2IntfFeatFlags::FLOOD, FLOOD),
            (L2IntfFeatFlags::UU_FLOOD, UNKNOWN),
        ];
        let all = known.iter().fold(0, |all, (flag, _)| all | flag.0);
        if request.is_set && request.flags.0 & !all != 0 {
            return Err(Refusal::unimplemented("flags: bridge domains do not answer or divert ARP"));
        }
        let bits = known.iter().filter(|(flag, _)| request.flags.has(*flag)).fold(0, |bits, (_, bit)| bits | bit);
        set_bits(control, member(control, request.sw_if_index)?, bits, 0, request.is_set)
    });
    file.request(|control, request: L2FlagsGet| {
        let (input_feature_bitmap, output_feature_bitmap) = bits(&of_layer2(control, request.sw_if_index)?);
        Ok(L2FlagsGetReply { input_feature_bitmap, output_feature_bitmap })
    });
    file.request(|control, request: L2FlagsSet| {
        let interface = of_layer2(control, request.sw_if_index)?;
        set_bits(control, interface, request.input_feature_bitmap, request.output_feature_bitmap, request.is_set)
    });
}

fn bridge(control: &Control, request: SwInterfaceSetL2Bridge) -> Result<(), Refusal> {
    let interface = name(control, request.rx_sw_if_index)?;
    if !request.enable {
        return Ok(leave(control, &interface)?);
    }
    let mut member = Layer2Interface::new(interface);
    member.domain = Some(DomainId(checked(request.bd_id)?));
    member.bvi = request.port_type == L2PortType::Bvi;
    member.uu_forward = request.port_type == L2PortType::UuFwd;
    member.group = request.shg;
    let other = control.room::<Bridges>().bvi(request.bd_id).map(InterfaceIndex::from);
    if member.bvi && other.is_some_and(|other| other != request.rx_sw_if_index) {
        let what = format!("port_type: bridge domain {} has a virtual interface already", request.bd_id);
        return Err(Refusal::new(Retval::BD_ALREADY_HAS_BVI, what));
    }
    Ok(join(control, member)?)
}

fn connect(control: &Control, from: InterfaceIndex, to: InterfaceIndex, on: bool) -> Result<(), Refusal> {
    let interface = name(control, from)?;
    if !on {
        return Ok(leave(control, &interface)?);
    }
    let second = |refusal: Refusal| Refusal { retval: Retval::INVALID_SW_IF_INDEX_2, ..refusal };
    let mut end = Layer2Interface::new(interface);
    end.connect = Some(name(control, to).map_err(second)?);
    Ok(control.put(end)?)
}

/// An interface of layer 2, as it is configured.
fn of_layer2(control: &Control, index: InterfaceIndex) -> Result<Layer2Interface, Refusal> {
    let InterfaceName(name) = name(control, index)?;
    let interface = control.objects().get::<Layer2Interface>(&InterfaceName(name.clone()));
    let missing = || Refusal::new(Retval::INVALID_SW_IF_INDEX, format!("sw_if_index: {name} is not in layer 2"));
    interface.map(|interface| Layer2Interface::clone(&interface)).ok_or_else(missing)
}

/// The same, if it is a member of a domain.
fn member(control: &Control, index: InterfaceIndex) -> Result<Layer2Interface, Refusal> {
    let interface = of_layer2(control, index)?;
    if interface.domain.is_none() {
        let what = format!("sw_if_index: {} is no member of a bridge domain", interface.interface);
        return Err(Refusal::new(Retval::INVALID_SW_IF_INDEX, what));
    }
    Ok(interface)
}

/// Feature bits of an interface on ingress and egress.
fn bits(interface: &Layer2Interface) -> (u32, u32) {
    let bit = |on, bit| if on { bit } else { 0 };
    let input = match interface.connect {
        Some(_) => CONNECT,
        None => {
            bit(interface.learn, LEARN)
                | bit(interface.forward, FORWARD)
                | bit(interface.flood, FLOOD)
                | bit(interface.uu_flood, UNKNOWN)
        }
    };
    (DROP | input, bit(interface.stp_blocked, STP_BLOCKED) | bit(interface.line_down, LINE_DOWN))
}

fn set_bits(control: &Control, mut of: Layer2Interface, input: u32, output: u32, on: bool) -> Result<(), Refusal> {
    let known = if of.domain.is_some() { LEARN | FORWARD | FLOOD | UNKNOWN } else { 0 };
    // What an interface has that it cannot have otherwise may be named, too.
    let fixed = if on { bits(&of).0 & !known } else { 0 };
    for (field, bits, known) in [("input", input & !fixed, known), ("output", output, STP_BLOCKED | LINE_DOWN)] {
        if bits & !known != 0 {
            let what = format!("{field}_feature_bitmap: {:#x} is none of {known:#x}", bits & !known);
            return Err(Refusal::unimplemented(what));
        }
    }
    let fields = [
        (input & LEARN, &mut of.learn),
        (input & FORWARD, &mut of.forward),
        (input & FLOOD, &mut of.flood),
        (input & UNKNOWN, &mut of.uu_flood),
        (output & STP_BLOCKED, &mut of.stp_blocked),
        (output & LINE_DOWN, &mut of.line_down),
    ];
    fields.into_iter().filter(|(bit, _)| *bit != 0).for_each(|(_, field)| *field = on);
    Ok(control.put(of)?)
}

//! `sw_interface_dump`: what there is to know of interfaces.

use std::rc::Rc;

use quiver_compat::api::Adding;
use quiver_compat::types::{IfStatusFlags, IfType, InterfaceIndex, LinkDuplex, NONE, SubIfFlags};
use quiver_compat::{Message, Text};
use quiver_control::Control;
use quiver_wire::MacAddress;

use super::{ALL, wanted};
use crate::interfaces::{Interface, InterfaceId, Interfaces, LOCAL};
use crate::settings::{InterfaceName, InterfaceSettings};

/// Dumps one interface, those whose name contains `name_filter`, or all.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SwInterfaceDetails)]
pub(super) struct SwInterfaceDump {
    #[default(4294967295)]
    pub sw_if_index: InterfaceIndex,
    pub name_filter_valid: bool,
    pub name_filter: String,
}

/// Describes one interface: names, state, MTUs and, for a sub-interface, its VLAN tags and tag rewrite.
#[derive(Message, Clone, Debug, Default)]
#[message(details)]
pub struct SwInterfaceDetails {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
    /// That of the interface that it is a part of, else its own.
    pub sup_sw_if_index: u32,
    /// Its address, of a whole interface.
    pub l2_address: MacAddress,
    /// Whether it is up, and has a connection.
    pub flags: IfStatusFlags,
    /// Whether it is a part.
    pub r#type: IfType,
    /// Not known.
    pub link_duplex: LinkDuplex,
    /// Kilobits a second; 0 where it is unknown.
    pub link_speed: u32,
    /// Bytes of a packet at most.
    pub link_mtu: u16,
    /// The same by protocol ([`MtuProto`](quiver_compat::types::MtuProto)); 0 where the first holds.
    pub mtu: [u32; 4],
    /// The number of a part among those of its interface.
    pub sub_id: u32,
    /// Tags of its frames.
    pub sub_number_of_tags: u8,
    /// The VLAN of the outer one.
    pub sub_outer_vlan_id: u16,
    /// The VLAN of the inner one.
    pub sub_inner_vlan_id: u16,
    /// Further flags.
    pub sub_if_flags: SubIfFlags,
    /// Tag rewrite in layer 2.
    pub vtr_op: u32,
    /// Whether the outer tag that goes on is IEEE 802.1Q's.
    pub vtr_push_dot1q: u32,
    /// The first VLAN that goes on.
    pub vtr_tag1: u32,
    /// The second one.
    pub vtr_tag2: u32,
    /// Of IEEE 802.1ah: the outer tag.
    pub outer_tag: u16,
    /// Of IEEE 802.1ah: the destination.
    pub b_dmac: MacAddress,
    /// Of IEEE 802.1ah: the source.
    pub b_smac: MacAddress,
    /// Of IEEE 802.1ah: the VLAN.
    pub b_vlanid: u16,
    /// Of IEEE 802.1ah: the service.
    pub i_sid: u32,
    /// Its name.
    pub interface_name: Text<64>,
    /// VPP's name of the interface's device class.
    pub interface_dev_type: Text<64>,
    /// Tag that its owner set.
    pub tag: Text<64>,
}

type Addition = Rc<dyn Fn(&Control, &Interface, &mut SwInterfaceDetails)>;

/// Fields that other rooms fill in.
#[derive(Default)]
pub(super) struct Additions(Vec<Addition>);

/// Has `addition` fill in what a room knows of interfaces.
pub fn add(control: &Control, addition: impl Fn(&Control, &Interface, &mut SwInterfaceDetails) + 'static) {
    control.room_mut::<Additions>().0.push(Rc::new(addition));
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.dump(|control, request: SwInterfaceDump| {
        let (filter, index) = (request.name_filter.to_lowercase(), request.sw_if_index.0);
        // As in VPP, 0 stands for all here, too, although it is local0.
        let only = (!request.name_filter_valid && index != NONE && index != 0).then_some(index);
        let is_wanted =
            move |interface: &Interface| !request.name_filter_valid || interface.name.to_lowercase().contains(&filter);
        let control = control.clone();
        wanted(&control.clone(), only.map_or(ALL, InterfaceIndex)).map(move |id| {
            let is_wanted = control.room::<Interfaces>().get(id).is_some_and(&is_wanted);
            is_wanted.then(|| details(&control, id)).flatten()
        })
    });
}

fn details(control: &Control, id: InterfaceId) -> Option<SwInterfaceDetails> {
    let (interface, whole) = {
        let interfaces = control.room::<Interfaces>();
        let interface = interfaces.get(id)?.clone();
        let whole = interface.parent.and_then(|parent| interfaces.get(parent)).unwrap_or(&interface).clone();
        (interface, whole)
    };
    let settings = control.objects().get::<InterfaceSettings>(&InterfaceName(interface.name.clone()));
    let is_part = interface.parent.is_some();
    let [ip4, ip6, mpls] = interface.mtus.in_order();
    let mut details = SwInterfaceDetails {
        sw_if_index: id.into(),
        sup_sw_if_index: whole.id.0,
        // VPP gives none of a part.
        l2_address: if is_part { MacAddress::ZERO } else { interface.mac },
        flags: flags(&interface, &whole),
        r#type: if is_part { IfType::Sub } else { IfType::Hardware },
        link_speed: whole.speed.unwrap_or_default(),
        link_mtu: whole.mtu,
        mtu: [interface.mtu.into(), ip4.into(), ip6.into(), mpls.into()],
        interface_name: interface.name.as_str().into(),
        interface_dev_type: device(&whole).into(),
        tag: settings.and_then(|settings| settings.tag.clone()).unwrap_or_default().into(),
        ..SwInterfaceDetails::default()
    };
    // They may look at any room, this one, too.
    let additions = control.room::<Additions>().0.clone();
    additions.iter().for_each(|addition| addition(control, &interface, &mut details));
    Some(details)
}

/// The state of an interface; none of one that is gone.
pub fn state(control: &Control, id: InterfaceId) -> IfStatusFlags {
    let interfaces = control.room::<Interfaces>();
    let Some(interface) = interfaces.get(id) else { return IfStatusFlags::default() };
    flags(interface, interface.parent.and_then(|parent| interfaces.get(parent)).unwrap_or(interface))
}

/// The state of an interface, which is (or is a part of) `whole`. An interface that is down has no connection.
fn flags(interface: &Interface, whole: &Interface) -> IfStatusFlags {
    let flag = |on, flag| if on { flag } else { IfStatusFlags::default() };
    flag(interface.up, IfStatusFlags::ADMIN_UP) | flag(whole.up && whole.link, IfStatusFlags::LINK_UP)
}

/// VPP's name of an interface's device class; clients tell kinds of interfaces by it.
fn device(interface: &Interface) -> &'static str {
    match interface.kind {
        _ if interface.id == LOCAL => "local",
        "loopback" if interface.name.starts_with("bvi") => "BVI",
        "loopback" => "Loopback",
        "packet-generator" => "pg",
        "tap" => "virtio",
        "pipe" => "Pipe",
        kind => kind,
    }
}

//! The common part of tunnel objects of all kinds, and how they are applied.

use std::net::IpAddr;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_interface::names::hash_of;
use quiver_interface::settings::AdminState;
use quiver_interface::{
    InterfaceName, InterfaceSettings, Interfaces, NewInterface, check_name, create, number_in, remove,
    set_point_to_point,
};
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::{EthernetHeader, Header, MacAddress, UdpPort, UnicastMac, V4, V6, Vni};

use crate::ends::Ends;
use crate::kind::Kind;
use crate::outer::{Choice, HOPS};
use crate::tunnels::{After, Settings, check_ends, close, open};

/// Bytes of a packet that links on the way are taken to carry.
const LINK_MTU: usize = 1500;

/// The fields that tunnels of all kinds have.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// The interface's name: the kind's word and a number, or a chosen one.
    pub name: String,
    /// The address that datagrams come from.
    pub source: IpAddr,
    /// The address that they go to.
    pub destination: IpAddr,
    /// The network.
    pub vni: u32,
    /// The interface by which datagrams for a group leave, and come.
    pub group_interface: Option<InterfaceName>,
    /// The UDP port by which datagrams come to us.
    pub port: u16,
    /// The UDP port that they go to.
    pub destination_port: u16,
    /// The table of IPv4 in which the destination is looked up.
    pub table: TableNumber<V4>,
    /// The same of IPv6.
    pub ip6_table: TableNumber<V6>,
    /// Whether packets go without an Ethernet header.
    pub layer3: bool,
    /// Where packets go that come out.
    pub after: After,
    /// The interface's address of hardware.
    pub mac: Option<UnicastMac>,
    /// The hop limit of datagrams.
    pub hop_limit: Option<u8>,
    /// Their class of service.
    pub dscp: u8,
    /// Whether routers on the way may not fragment datagrams of IPv4.
    pub dont_fragment: bool,
    /// Whether datagrams of IPv6 have a checksum.
    pub checksum: bool,
}

impl Fields {
    /// Fields of a tunnel between these ends, without a name, with the ports of its kind.
    pub fn between<T: Configured>(source: IpAddr, destination: IpAddr, vni: u32) -> Fields {
        let port = <T::Kind as Kind>::PORT.0;
        Fields {
            name: String::new(),
            source,
            destination,
            vni,
            group_interface: None,
            port,
            destination_port: port,
            table: TableNumber::DEFAULT,
            ip6_table: TableNumber::DEFAULT,
            layer3: false,
            after: After::Interface,
            mac: None,
            hop_limit: None,
            dscp: 0,
            dont_fragment: false,
            checksum: true,
        }
    }
    /// Sets the table of the family of the destination.
    pub fn set_table(&mut self, table: u32) {
        match self.destination {
            IpAddr::V4(_) => self.table = TableNumber::new(table),
            IpAddr::V6(_) => self.ip6_table = TableNumber::new(table),
        }
    }
    /// The table in which the destination is looked up.
    pub fn table_id(&self) -> TableId {
        if self.destination.is_ipv4() { self.table.into() } else { self.ip6_table.into() }
    }
    /// The number in the name of a tunnel of a kind.
    pub fn instance<T: Configured>(&self) -> Option<u32> {
        number_in(&self.name, T::STEM)
    }
    /// Settings of the tunnel; none if the fields contradict each other, or the interface does not exist.
    fn settings(&self, control: &Control) -> Option<Settings> {
        let group_interface = match &self.group_interface {
            Some(name) => Some(control.room::<Interfaces>().find(&name.0)?.id),
            None => None,
        };
        Some(Settings {
            ends: Ends::new(self.source, self.destination)?,
            vni: Vni::new(self.vni)?,
            port: UdpPort(self.port),
            table: self.table_id(),
            group_interface,
            is_layer3: self.layer3,
            next: self.after,
            choice: Choice {
                port: self.destination_port,
                hop_limit: self.hop_limit.unwrap_or(HOPS[usize::from(self.destination.is_ipv6())]),
                dscp: self.dscp,
                dont_fragment: self.dont_fragment,
                checksum: self.checksum,
            },
        })
    }
    /// A MAC address that differs from that of the other end and of other tunnels here: a hash of the tunnel's key.
    fn made_up_mac(&self) -> MacAddress {
        let told = format!("{} {} {} {}", self.name, self.source, self.destination, self.vni);
        let [a, b, c, d, ..] = hash_of(&told).to_be_bytes();
        MacAddress([0x02, 0xfe, a, b, c, d])
    }
    /// Bytes of a packet at most that links of 1,500 bytes carry in one datagram.
    fn mtu<K: Kind>(&self) -> u16 {
        let ends = Ends::new(self.source, self.destination).map_or(0, |ends| ends.length());
        let link = if self.layer3 { 0 } else { EthernetHeader::LENGTH };
        (LINK_MTU - ends - K::HEADER_LENGTH - link) as u16
    }
}

/// A kind of objects that are tunnels.
pub trait Configured: Object<Key = String> {
    /// The kind of tunnels.
    type Kind: Kind;
    /// Prefix of the interfaces' names.
    const STEM: &'static str;
    /// The fields that all tunnels have.
    fn fields(&self) -> Fields;
    /// An object with these fields.
    fn of(fields: Fields) -> Self;
}

/// Checks the fields of a tunnel that need no other object.
///
/// # Errors
/// Naming the field.
pub fn check<T: Configured>(tunnel: &T) -> Result<(), ObjectError> {
    let fields = tunnel.fields();
    let wrong = |field: &str, what: String, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    check_name(&fields.name, &format!("{}0", T::STEM))?;
    if Vni::new(fields.vni).is_none() {
        return wrong("vni", format!("{} has more than 24 bits", fields.vni), &format!("give 0 to {}", Vni::MAX));
    }
    if fields.dscp > 63 {
        return wrong("dscp", format!("{} has more than 6 bits", fields.dscp), "give 0 to 63");
    }
    for (field, port) in [("port", fields.port), ("destination-port", fields.destination_port)] {
        if port == 0 {
            return wrong(field, "port 0 is reserved".into(), "give 1 to 65535");
        }
    }
    match fields.destination {
        IpAddr::V4(_) if fields.ip6_table != TableNumber::DEFAULT => {
            return wrong("ip6-table", "the addresses are of IPv4".into(), "set table");
        }
        IpAddr::V6(_) if fields.table != TableNumber::DEFAULT => {
            return wrong("table", "the addresses are of IPv6".into(), "set ip6-table");
        }
        _ => {}
    }
    if fields.hop_limit == Some(0) {
        return wrong("hop-limit", "0 is out of range".into(), "give 1 to 255");
    }
    check_ends(fields.source, fields.destination, fields.group_interface.is_some())
}

/// Makes interfaces of objects, and takes them away. Every field is fixed.
///
/// # Errors
/// As [`open`] and [`create`].
pub fn apply<T: Configured>(control: &Control, change: Change<'_, T>) -> Result<(), ObjectError> {
    match change {
        Change::Create(tunnel) => make::<T::Kind>(control, &tunnel.fields()),
        Change::Update { .. } => Ok(()),
        Change::Delete(tunnel) => {
            let id = control.room::<Interfaces>().id_of(&tunnel.key())?;
            close::<T::Kind>(control, id);
            remove(control, id);
            Ok(())
        }
    }
}

fn make<K: Kind>(control: &Control, fields: &Fields) -> Result<(), ObjectError> {
    let Some(settings) = fields.settings(control) else {
        return Err(ObjectError::whole("its fields contradict each other").remedy("check them"));
    };
    let mac = match fields.layer3 {
        true => MacAddress::ZERO,
        false => fields.mac.map_or_else(|| fields.made_up_mac(), UnicastMac::get),
    };
    let (name, mtu) = (fields.name.clone(), fields.mtu::<K>());
    let id = create(control, NewInterface { name, kind: K::NAME, mac, mtu, parent: None, queues: None })?;
    if fields.layer3 {
        set_point_to_point(control, id);
    }
    open::<K>(control, id, &settings).inspect_err(|_| remove(control, id))
}

/// Whether there is an interface with the name that a tunnel of this number has.
pub fn is_taken<T: Configured>(control: &Control, instance: u32) -> bool {
    control.room::<Interfaces>().find(&format!("{}{instance}", T::STEM)).is_some()
}

/// Makes a tunnel of the wanted name, of this number, or of the first that is free, and sets it up, as VPP does. Returns its
/// name.
///
/// # Errors
/// As [`check`] and [`apply`].
pub fn add<T: Configured>(control: &Control, mut wanted: Fields, instance: Option<u32>) -> Result<String, ObjectError> {
    let free = || control.room_mut::<Interfaces>().free_name(T::STEM);
    if wanted.name.is_empty() {
        wanted.name = instance.map_or_else(free, |instance| format!("{}{instance}", T::STEM));
    }
    let name = wanted.name.clone();
    control.put(T::of(wanted))?;
    let up = control.edit(InterfaceSettings::new(InterfaceName(name.clone())), |settings| {
        settings.state = AdminState::Up;
    });
    up.map(|()| name)
}

/// The name of the tunnel with these ends, this network, port and table.
pub fn find<T: Configured>(control: &Control, wanted: &Fields) -> Option<String> {
    let id = crate::tunnels::find::<T::Kind>(control, &wanted.settings(control)?)?;
    Some(control.room::<Interfaces>().name(id))
}

/// Declares a kind of objects with the fields of [`Fields`] as tunnels, with the prefix of their interfaces' names.
#[macro_export]
macro_rules! configured {
    ($object:ident of $kind:ident, $stem:literal) => {
        impl $crate::configured::Configured for $object {
            type Kind = $kind;
            const STEM: &'static str = $stem;
            fn fields(&self) -> $crate::configured::Fields {
                $crate::configured!(@move self.clone(), $object, $crate::configured::Fields)
            }
            fn of(fields: $crate::configured::Fields) -> $object {
                $crate::configured!(@move fields, $crate::configured::Fields, $object)
            }
        }
    };
    (@move $value:expr, $from:path, $to:path) => {{
        use $from as From;
        use $to as To;
        let From {
            name, source, destination, vni, group_interface, port, destination_port, table, ip6_table, layer3, after, mac,
            hop_limit, dscp, dont_fragment, checksum,
        } = $value;
        To {
            name, source, destination, vni, group_interface, port, destination_port, table, ip6_table, layer3, after, mac,
            hop_limit, dscp, dont_fragment, checksum,
        }
    }};
}

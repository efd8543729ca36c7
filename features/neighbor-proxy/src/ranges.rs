//! Ranges of addresses, by table, for which ARP requests are answered.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::InterfaceId;
use quiver_ip::Ip4;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::V4;

/// Address range for which the interfaces in `arp-proxies` of a table answer.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "arp-proxy-ranges")]
pub struct ArpProxyRange {
    /// Id of the table.
    #[key]
    pub table: TableNumber<V4>,
    /// First address of the range.
    #[key]
    pub low: Ipv4Addr,
    /// Last address of the range.
    #[key]
    pub high: Ipv4Addr,
}

struct Ranges(BTreeSet<(TableId, Ipv4Addr, Ipv4Addr)>);

pub(crate) fn register(control: &Control) {
    control.insert_room(Ranges(BTreeSet::new()));
    control.objects().add(Kind::new(apply).check(check));
}

fn check(range: &ArpProxyRange) -> Result<(), ObjectError> {
    if range.low > range.high {
        let what = format!("{} is below {}", range.high, range.low);
        return Err(ObjectError::field("high", what).remedy("give the last address of the range"));
    }
    Ok(())
}

fn apply(control: &Control, change: Change<'_, ArpProxyRange>) -> Result<(), ObjectError> {
    let (range, on) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let key = (range.table.into(), range.low, range.high);
    let all = &mut control.room_mut::<Ranges>().0;
    _ = if on { all.insert(key) } else { all.remove(&key) };
    Ok(())
}

/// Whether an address is in a range of an interface's table.
pub(crate) fn has(control: &Control, id: InterfaceId, address: Ipv4Addr) -> bool {
    let table = control.room::<Ip4>().table_of(id);
    control.room::<Ranges>().0.iter().any(|(of, low, high)| *of == table && (*low..=*high).contains(&address))
}

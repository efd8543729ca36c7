//! MTUs of paths to hosts (RFC 1191, RFC 8201), below those of the links that lead to them: what is longer is fragmented or reported
//! as if the link took no more. A neighbour's holds of all packets that go by it.

use quiver_control::{Change, Control, Kind, Object, ObjectError};

use crate::config::objects::TableNumber;
use crate::config::room::Ip;
use crate::family::Family;

/// Path MTU to a host, if smaller than the MTUs of the links. The MTU of a neighbor applies to all packets through
/// it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.path_mtus)]
pub struct PathMtu<F: Family> {
    /// Id of the table with the host.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// Address of the host.
    #[key]
    pub peer: F::Address,
    /// Path MTU in bytes from the IP header on: at least 68 for IPv4, 1280 for IPv6.
    #[default(1500)]
    pub mtu: u16,
}

pub(super) fn register<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply::<F>).check(check::<F>));
}

fn check<F: Family>(wanted: &PathMtu<F>) -> Result<(), ObjectError> {
    let least = F::MTU_MIN;
    match (F::is_host(wanted.peer), wanted.mtu >= least) {
        (false, _) => Err(ObjectError::field("peer", format!("{} is not one host's", wanted.peer))
            .remedy("give the host's own address")),
        (_, false) => {
            let what = format!("{} takes packets of {least} bytes at least, not {}", F::TITLE, wanted.mtu);
            Err(ObjectError::field("mtu", what).remedy(format!("give {least} or more")))
        }
        _ => Ok(()),
    }
}

fn apply<F: Family>(control: &Control, change: Change<'_, PathMtu<F>>) -> Result<(), ObjectError> {
    let (path, mtu) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, Some(new.mtu)),
        Change::Delete(old) => (old, None),
    };
    control.room_mut::<Ip<F>>().set_path_mtu(path.table.into(), path.peer, mtu);
    Ok(())
}

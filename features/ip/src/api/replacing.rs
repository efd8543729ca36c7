//! Replacing without an interruption: a client has everything marked, says what shall be there, and has what is still
//! marked then removed. And tables that are deleted when nobody uses them any more.

use std::collections::{BTreeSet, HashMap, HashSet};

use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix, V4};

use crate::fib::TableId;
use crate::objects::IpTable;

/// Tables that clients have deleted while interfaces are bound to them, or routes lead into them. They stay, without routes of
/// clients, until the last user has left and a client deals with tables again, as VPP's clients expect, which take an
/// interface away after its table. Whoever configures a table keeps it.
#[derive(Default)]
pub(crate) struct Leaving(pub BTreeSet<u32>);

/// Deletes the tables that clients have deleted and nobody uses any more.
pub(super) fn sweep(control: &Control) {
    let leaving: Vec<u32> = control.room::<Leaving>().0.iter().copied().collect();
    for id in leaving {
        let is_there = control.objects().get::<IpTable>(&id).is_some();
        // Who uses it keeps it: the error names them.
        if is_there && let Err(error) = control.delete::<IpTable>(&id) {
            tracing::debug!("{error}");
            continue;
        }
        control.room_mut::<Leaving>().0.remove(&id);
    }
}

/// What is marked.
#[derive(Default)]
pub(super) struct Replacing {
    /// Routes, in the tables that are being replaced.
    pub routes: HashMap<TableId, HashSet<Prefix<V4>>>,
    /// Addresses, if they are being replaced.
    pub addresses: Option<HashSet<(InterfaceName, Address<V4>)>>,
}

impl Replacing {
    /// A route shall be there.
    pub fn keep_route(&mut self, table: TableId, prefix: &Prefix<V4>) {
        if let Some(marked) = self.routes.get_mut(&table) {
            marked.remove(prefix);
        }
    }
    /// An address shall be there.
    pub fn keep_address(&mut self, key: &(InterfaceName, Address<V4>)) {
        if let Some(marked) = &mut self.addresses {
            marked.remove(key);
        }
    }
}

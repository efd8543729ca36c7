//! Replacing without an interruption: a client has everything marked, says what shall be there, and has what is still
//! marked then removed.

use std::collections::{HashMap, HashSet};

use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix, V4};

use crate::fib::TableId;

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

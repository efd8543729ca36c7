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
    /// Routes whose time is up, in the tables where they are being removed.
    pub going: HashMap<TableId, HashSet<Prefix<V4>>>,
    /// Addresses, if they are being replaced.
    pub addresses: Option<HashSet<(InterfaceName, Address<V4>)>>,
}

impl Replacing {
    /// A route shall be there.
    pub fn keep_route(&mut self, table: TableId, prefix: &Prefix<V4>) {
        for marked in [&mut self.routes, &mut self.going] {
            if let Some(marked) = marked.get_mut(&table) {
                marked.remove(prefix);
            }
        }
    }
    /// Whether a route goes still; nobody is asked about it again.
    pub fn goes(&mut self, table: TableId, prefix: &Prefix<V4>) -> bool {
        self.going.get_mut(&table).is_some_and(|going| going.remove(prefix))
    }
    /// An address shall be there.
    pub fn keep_address(&mut self, key: &(InterfaceName, Address<V4>)) {
        if let Some(marked) = &mut self.addresses {
            marked.remove(key);
        }
    }
}

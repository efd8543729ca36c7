//! Replacing without an interruption: a client has everything marked, says what shall be there, and has what is still
//! marked then removed.

use std::collections::{HashMap, HashSet};

use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix};

use crate::family::Family;
use crate::fib::TableId;

/// What is marked.
pub(super) struct Replacing<F: Family> {
    /// Routes, in the tables that are being replaced.
    pub routes: HashMap<TableId, HashSet<Prefix<F>>>,
    /// Routes whose time is up, in the tables where they are being removed.
    pub going: HashMap<TableId, HashSet<Prefix<F>>>,
    /// Addresses, if they are being replaced.
    pub addresses: Option<HashSet<(InterfaceName, Address<F>)>>,
}

impl<F: Family> Default for Replacing<F> {
    fn default() -> Replacing<F> {
        Replacing { routes: HashMap::new(), going: HashMap::new(), addresses: None }
    }
}

impl<F: Family> Replacing<F> {
    /// A route shall be there.
    pub fn keep_route(&mut self, table: TableId, prefix: &Prefix<F>) {
        for marked in [&mut self.routes, &mut self.going] {
            if let Some(marked) = marked.get_mut(&table) {
                marked.remove(prefix);
            }
        }
    }
    /// Whether a route goes still; nobody is asked about it again.
    pub fn goes(&mut self, table: TableId, prefix: &Prefix<F>) -> bool {
        self.going.get_mut(&table).is_some_and(|going| going.remove(prefix))
    }
    /// An address shall be there.
    pub fn keep_address(&mut self, key: &(InterfaceName, Address<F>)) {
        if let Some(marked) = &mut self.addresses {
            marked.remove(key);
        }
    }
}

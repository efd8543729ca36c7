//! Replacing without an interruption: a client has everything marked, says what shall be there, and has what is still
//! marked then removed.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use quiver_compat::Refusal;
use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, Prefix};

use crate::family::Family;
use crate::fib::TableId;

/// Steps by which a client replaces or deletes all routes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Marks all routes.
    Begin,
    /// Deletes the marked routes that were not added again.
    End,
    /// Deletes all routes.
    Flush,
}

/// Does the same with another kind of routes in the table.
type Follower = Rc<dyn Fn(&Control, TableId, Sweep) -> Result<(), Refusal>>;

/// Other rooms that have routes in tables of a family.
pub(super) struct Followers<F: Family>(Vec<Follower>, std::marker::PhantomData<F>);

impl<F: Family> Default for Followers<F> {
    fn default() -> Followers<F> {
        Followers(vec![], std::marker::PhantomData)
    }
}

/// Has `follow` do with a room's own routes what clients do with all routes of a table of the family.
pub fn follow<F: Family>(
    control: &Control,
    follow: impl Fn(&Control, TableId, Sweep) -> Result<(), Refusal> + 'static,
) {
    control.room_mut::<Followers<F>>().0.push(Rc::new(follow));
}

/// Has all who follow do so.
pub(super) fn lead<F: Family>(control: &Control, table: TableId, sweep: Sweep) -> Result<(), Refusal> {
    let followers = control.room::<Followers<F>>().0.clone();
    followers.iter().try_for_each(|follow| follow(control, table, sweep))
}

/// Marked routes and addresses.
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

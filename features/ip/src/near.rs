//! Neighbours whose addresses mean something on one link only (RFC 4291, 2.5.6): they have no routes, so this says which
//! adjacency is theirs. Without it every packet for them would meet the link as a whole, behind which nobody is known.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::marker::PhantomData;

use quiver_engine::{Domain, Guard};
use quiver_interface::InterfaceId;
use quiver_table::{ExactError, ExactTable, ExactWriter};

use crate::adjacency::AdjacencyTable;
use crate::family::Family;

/// Neighbours at most; others are found by asking.
const NEIGHBORS_MAX: usize = 1 << 20;

/// The adjacencies of known neighbours, by interface and address.
pub struct Near<F: Family> {
    table: ExactWriter,
    secret: RandomState,
    family: PhantomData<F>,
}

impl<F: Family> Near<F> {
    pub(crate) fn new(domain: &Domain) -> Result<Near<F>, ExactError> {
        let secret = RandomState::new();
        let table = ExactWriter::new(domain, NEIGHBORS_MAX, secret.hash_one(0))?;
        Ok(Near { table, secret, family: PhantomData })
    }
    /// The table that workers read.
    pub fn reader(&self) -> NearReader<F> {
        NearReader { table: self.table.reader(), secret: self.secret.clone(), family: PhantomData }
    }
    /// Stores or removes a neighbor's adjacency. Neighbors that have routes are not stored.
    pub fn set(&mut self, neighbor: (InterfaceId, F::Address), hop: Option<u32>) {
        if !F::is_link_local(neighbor.1) {
            return;
        }
        let key = key::<F>(&self.secret, neighbor);
        match hop {
            Some(hop) => {
                if let Err(error) = self.table.insert(key, hop.into(), 0) {
                    tracing::warn!("packets for {} wait, each for a while: {error}", neighbor.1);
                }
            }
            None => drop(self.table.remove(key)),
        }
    }
}

/// Key of a neighbor: a hash with a secret. Hashes may collide, so readers check the adjacency that they find.
fn key<F: Family>(secret: &RandomState, (interface, address): (InterfaceId, F::Address)) -> u64 {
    secret.hash_one((interface, address)).max(1)
}

/// The same, to be read.
#[derive(Clone)]
pub struct NearReader<F: Family> {
    table: ExactTable,
    secret: RandomState,
    family: PhantomData<F>,
}

impl<F: Family> NearReader<F> {
    /// The adjacency of a neighbour that is known.
    pub fn find(
        &self,
        guard: Guard<'_>,
        adjacencies: &AdjacencyTable<F>,
        neighbor: (InterfaceId, F::Address),
    ) -> Option<u32> {
        let hop = self.table.view(guard).get(key::<F>(&self.secret, neighbor))? as u32;
        let row = adjacencies.row(hop);
        let is_it = adjacencies.next_hop(hop) == Some(neighbor.1) && row.tx() == neighbor.0.0;
        (is_it && row.is_complete()).then_some(hop)
    }
}

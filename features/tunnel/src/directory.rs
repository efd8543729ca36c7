//! Which tunnel a datagram belongs to: by both addresses, the port, the network, and the table of its receiving interface.

use std::collections::HashMap;

use quiver_engine::Domain;
use quiver_table::{ExactError, ExactTable, ExactView, ExactWriter, Guard, Keys128};
use quiver_wire::{UdpPort, Vni};

use crate::underlay::{Underlay, host_key};

/// Tunnels of a kind and family at most, and addresses of their ends.
pub const TUNNELS_MAX: usize = 1 << 21;

/// Lookup key of a datagram's tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<A> {
    /// The address of the other end; of a datagram for a group the group.
    pub remote: A,
    /// Ours; of a tunnel to a group none.
    pub local: A,
    /// The port.
    pub port: UdpPort,
    /// The network.
    pub vni: Vni,
    /// The slot of the table.
    pub slot: u16,
}

impl<A> Key<A> {
    #[inline(always)]
    fn of(&self, remote: u32, local: u32) -> u128 {
        number(remote, local, lower(self.vni.get(), self.port.0, self.slot))
    }
}

/// The network, the port and the table in the number of a key.
#[inline(always)]
pub(crate) fn lower(vni: u32, port: u16, slot: u16) -> u64 {
    u64::from(vni) << 40 | u64::from(port) << 24 | u64::from(slot) << 8 | 1
}

#[inline(always)]
fn number(remote: u32, local: u32, lower: u64) -> u128 {
    u128::from(remote) << 96 | u128::from(local) << 64 | u128::from(lower)
}

/// A tunnel as a datagram finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelMatch(u32);

impl TunnelMatch {
    /// The bit that says that it is up.
    pub(crate) const UP: u32 = 1 << 24;
    /// The first bit of the arc.
    pub(crate) const ARC: u32 = 25;
    /// An interface, whether it is up, and the arc by which its packets go on.
    pub fn new(interface: u32, up: bool, arc: u16) -> TunnelMatch {
        TunnelMatch(interface & (Self::UP - 1) | u32::from(up) << 24 | u32::from(arc) << Self::ARC)
    }
    /// All of it.
    #[inline(always)]
    pub(crate) fn word(self) -> u32 {
        self.0
    }
    /// The interface.
    #[inline(always)]
    pub fn interface(self) -> u32 {
        self.0 & (Self::UP - 1)
    }
    /// Whether it is up.
    #[inline(always)]
    pub fn is_up(self) -> bool {
        self.0 & Self::UP != 0
    }
    /// The arc.
    #[inline(always)]
    pub fn arc(self) -> u16 {
        (self.0 >> Self::ARC) as u16
    }
}

/// All tunnels, for workers.
#[derive(Clone)]
pub struct Reader {
    tunnels: ExactTable<Keys128>,
    hosts: ExactTable<Keys128>,
}

impl Reader {
    /// During a frame.
    #[inline(always)]
    pub fn view<'g>(&self, guard: Guard<'g>) -> View<'g> {
        View { tunnels: self.tunnels.view(guard), hosts: self.hosts.view(guard) }
    }
}

/// All tunnels, during a frame.
#[derive(Clone, Copy)]
pub struct View<'g> {
    tunnels: ExactView<'g, Keys128>,
    hosts: ExactView<'g, Keys128>,
}

impl View<'_> {
    /// The tunnel of a key.
    #[inline(always)]
    pub fn get<F: Underlay>(&self, key: &Key<F::Address>) -> Option<TunnelMatch> {
        self.find::<F>(F::bits(key.remote), F::bits(key.local), lower(key.vni.get(), key.port.0, key.slot))
    }
    /// The tunnel between two ends, of a network, a port and a table.
    #[inline(always)]
    pub(crate) fn find<F: Underlay>(&self, remote: F::Bits, local: F::Bits, lower: u64) -> Option<TunnelMatch> {
        let (remote, local) = (F::number(remote, &self.hosts)?, F::number(local, &self.hosts)?);
        self.tunnels.get(number(remote, local, lower)).map(TunnelMatch)
    }
    /// Whether tunnels lie so far away that it is worth while to fetch them ahead.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.tunnels.is_large()
    }
    /// Prefetches the last line that [`View::find`] reads.
    #[inline(always)]
    pub(crate) fn prefetch<F: Underlay>(&self, remote: F::Bits, local: F::Bits, lower: u64) {
        if let (Some(remote), Some(local)) = (F::number(remote, &self.hosts), F::number(local, &self.hosts)) {
            self.tunnels.prefetch(number(remote, local, lower));
        }
    }
}

/// All tunnels of a kind over a family.
pub struct Directory<F: Underlay> {
    tunnels: ExactWriter<Keys128>,
    hosts: ExactWriter<Keys128>,
    /// Numbers of addresses, and how many tunnels have them.
    numbers: HashMap<F::Address, (u32, u32)>,
    /// The next number. None is used twice: a worker may know a former one until its frame ends.
    next: u32,
}

impl<F: Underlay> Directory<F> {
    /// None yet; the seed keeps strangers from choosing keys that lie together.
    pub fn new(domain: &Domain, seed: u64) -> Result<Directory<F>, ExactError> {
        let table = |seed| ExactWriter::of_lines(domain, TUNNELS_MAX, seed);
        Ok(Directory { tunnels: table(seed)?, hosts: table(!seed)?, numbers: HashMap::new(), next: 0 })
    }
    /// For a worker.
    pub fn reader(&self) -> Reader {
        Reader { tunnels: self.tunnels.reader(), hosts: self.hosts.reader() }
    }
    fn number_of(&self, address: F::Address) -> Option<u32> {
        match F::VERSION {
            4 => Some(F::to_bits(address) as u32),
            _ => self.numbers.get(&address).map(|(number, _)| *number),
        }
    }
    fn hold(&mut self, address: F::Address) -> Result<u32, ExactError> {
        if F::VERSION == 4 {
            return Ok(F::to_bits(address) as u32);
        }
        if let Some((number, users)) = self.numbers.get_mut(&address) {
            *users += 1;
            return Ok(*number);
        }
        let number = self.next;
        if let Some(key) = host_key(F::to_bits(address)) {
            self.hosts.insert_early(key, number, 0)?;
        }
        self.next = number.wrapping_add(1);
        self.numbers.insert(address, (number, 1));
        Ok(number)
    }
    fn let_go(&mut self, address: F::Address) {
        let Some((_, users)) = self.numbers.get_mut(&address) else { return };
        *users -= 1;
        if *users == 0 {
            self.numbers.remove(&address);
            host_key(F::to_bits(address)).map(|key| self.hosts.remove(key));
        }
    }
    /// The tunnel of a key.
    pub fn get(&self, key: &Key<F::Address>) -> Option<TunnelMatch> {
        let (remote, local) = (self.number_of(key.remote)?, self.number_of(key.local)?);
        self.tunnels.get(key.of(remote, local)).map(|row| TunnelMatch(row.value))
    }
    /// Adds a tunnel. Datagrams may find it before other changes that wait, so it is to be down if there may be some.
    ///
    /// # Errors
    /// If there is no room; nothing has changed then.
    pub fn insert(&mut self, key: &Key<F::Address>, found: TunnelMatch) -> Result<(), ExactError> {
        let remote = self.hold(key.remote)?;
        let local = self.hold(key.local).inspect_err(|_| self.let_go(key.remote))?;
        let inserted = self.tunnels.insert_early(key.of(remote, local), found.0, 0);
        if inserted.is_err() {
            self.let_go(key.remote);
            self.let_go(key.local);
        }
        inserted.map(|_| ())
    }
    /// Changes the value of a tunnel that was added before.
    pub fn change(&mut self, key: &Key<F::Address>, found: TunnelMatch) {
        if let Some((remote, local)) = self.number_of(key.remote).zip(self.number_of(key.local)) {
            // The entry is there, so it needs no room.
            let _ = self.tunnels.insert(key.of(remote, local), found.0, 0);
        }
    }
    /// Removes a tunnel.
    pub fn remove(&mut self, key: &Key<F::Address>) {
        if let Some((remote, local)) = self.number_of(key.remote).zip(self.number_of(key.local)) {
            self.tunnels.remove(key.of(remote, local));
            self.let_go(key.remote);
            self.let_go(key.local);
        }
    }
}

//! Adjacencies: what it takes to reach a neighbour on a link. A group's buckets hold their numbers, `ip4-rewrite` reads
//! their rows.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use quiver_engine::{Counters, Domain, INTERFACES_MAX, Isa, Lanes, Paged, Picked, Publisher, Slots, Snapshot};
use quiver_interface::InterfaceId;
use quiver_table::{PAGE, SharedMap};
use quiver_wire::{EtherType, EthernetHeader, Header, IpFamily, MacAddress};
use zerocopy::IntoBytes;

use crate::fib::TableId;
use crate::fib::hop::FIRST_ADJACENCY;

/// State of an adjacency, one byte of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// No adjacency has this number.
    Absent = 0,
    /// The neighbor's MAC address is not known yet.
    Incomplete = 1,
    /// The adjacency covers all neighbors of a link. The packet's destination selects the neighbor.
    Glean = 2,
    /// The neighbor's MAC address is known.
    Complete = 3,
}

/// An adjacency as workers read it: 32 bytes.
///
/// 0..14 the Ethernet header, 14 the [`State`], 16..20 [`AdjacencyRow::sending`] in the order of words that lanes have, 20..24 the
/// generation, 24..26 the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct AdjacencyRow(pub [u8; 32]);

// The bits above the interface hold the length of jumbo frames.
const _: () = assert!(INTERFACES_MAX.is_power_of_two() && AdjacencyRow::SECOND_LOOK_MAX >= 9216);

/// A row for numbers that have none.
static ABSENT: AdjacencyRow = AdjacencyRow([0; 32]);

impl Default for AdjacencyRow {
    fn default() -> AdjacencyRow {
        ABSENT
    }
}

impl AdjacencyRow {
    /// Whether it is of this state.
    #[inline(always)]
    pub fn is(&self, state: State) -> bool {
        self.0[14] == state as u8
    }
    /// Whether packets can be sent by it.
    pub fn is_complete(&self) -> bool {
        self.is(State::Complete)
    }
    /// The header in front of packets.
    pub fn header(&self) -> &[u8] {
        &self.0[..EthernetHeader::LENGTH]
    }
    /// Has the header in front of packets be for another station of the link, or a group.
    pub fn set_destination(&mut self, mac: MacAddress) {
        self.0[..6].copy_from_slice(&mac.0);
    }
    /// Has the header say what frames carry.
    pub fn set_ethertype(&mut self, ethertype: EtherType) {
        self.0[12..14].copy_from_slice(ethertype.as_bytes());
    }
    /// The interface that sends, in the lower [`AdjacencyRow::TX_BITS`] bits; above them the largest length in bytes of an IP packet that
    /// needs no second look: zero if the neighbor is not known.
    ///
    /// PERF: a second word cost 5 of the 118 instructions of a routed packet (AVX2).
    #[inline(always)]
    pub fn sending(&self) -> u32 {
        u32::from_le_bytes([self.0[16], self.0[17], self.0[18], self.0[19]])
    }
    /// Masks the interface in [`AdjacencyRow::sending`].
    pub const TX: u32 = INTERFACES_MAX - 1;
    /// The bits of [`AdjacencyRow::sending`] below the length.
    pub const TX_BITS: u32 = INTERFACES_MAX.ilog2();
    /// The largest length in bytes that needs no second look whatever the MTU is.
    const SECOND_LOOK_MAX: u16 = (u32::MAX >> Self::TX_BITS) as u16;
    /// The largest length in bytes of an IP packet that needs no second look.
    pub fn second_look(&self) -> u16 {
        (self.sending() >> Self::TX_BITS) as u16
    }
    /// The interface that sends.
    #[inline(always)]
    pub fn tx(&self) -> u32 {
        self.sending() & Self::TX
    }
    /// Bytes of an IP packet at most.
    pub fn mtu(&self) -> u16 {
        u16::from_be_bytes([self.0[24], self.0[25]])
    }
    /// Has packets be so long at most.
    pub fn set_mtu(&mut self, mtu: u16) {
        self.0[24..26].copy_from_slice(&mtu.to_be_bytes());
    }
    /// Tells owners of the same number apart.
    pub fn generation(&self) -> u32 {
        u32::from_be_bytes([self.0[20], self.0[21], self.0[22], self.0[23]])
    }
}

/// All adjacencies of a family as workers read them, by number.
#[derive(Clone, Debug)]
pub struct AdjacencyTable<F: IpFamily> {
    /// Rows that `ip4-rewrite` and `ip6-rewrite` read.
    rows: Paged<AdjacencyRow>,
    /// Addresses of the neighbors.
    next_hops: Paged<Option<F::Address>>,
}

impl<F: IpFamily> Default for AdjacencyTable<F> {
    fn default() -> AdjacencyTable<F> {
        AdjacencyTable { rows: Paged::default(), next_hops: Paged::default() }
    }
}

impl<F: IpFamily> AdjacencyTable<F> {
    /// The row of a number.
    #[inline(always)]
    pub fn row(&self, hop: u32) -> &AdjacencyRow {
        self.rows.get(hop as usize).unwrap_or(&ABSENT)
    }
    /// The rows beside that of a number, by what is left of it modulo [`PAGE`].
    #[inline(always)]
    pub fn page(&self, hop: u32) -> Option<&[AdjacencyRow; PAGE]> {
        self.rows.page(hop as usize)
    }
    /// The neighbour; none for a link as a whole.
    pub fn next_hop(&self, hop: u32) -> Option<F::Address> {
        *self.next_hops.get(hop as usize)?
    }
}

/// The rows of adjacencies during a frame, eight at once.
///
/// PERF: there are few neighbors mostly, whose rows are in one page of the table: then it is found once.
pub struct AdjacencyRows<'f, F: IpFamily> {
    table: &'f AdjacencyTable<F>,
    /// The page that the last ones were in, and its number.
    page: Slots<'f, AdjacencyRow>,
    number: u32,
}

impl<'f, F: IpFamily> AdjacencyRows<'f, F> {
    /// Those of a table.
    #[inline(always)]
    pub fn new(table: &'f AdjacencyTable<F>) -> AdjacencyRows<'f, F> {
        AdjacencyRows { table, page: Slots::of(std::array::from_ref(&ABSENT)), number: u32::MAX }
    }
    /// The table.
    #[inline(always)]
    pub fn table(&self) -> &'f AdjacencyTable<F> {
        self.table
    }
    /// The rows of eight hops, if they are in one page.
    #[inline(always)]
    pub fn pick<I: Isa>(&mut self, hops: Lanes<I>) -> Option<Picked<'f, AdjacencyRow, I>> {
        let numbers = hops >> PAGE.ilog2();
        if numbers.ne(self.number).any() {
            let number = numbers.array()[0];
            self.page = Slots::of(self.table.page(number << PAGE.ilog2())?);
            self.number = number;
            if numbers.ne(number).any() {
                return None;
            }
        }
        Some((hops & (PAGE as u32 - 1)).pick(self.page))
    }
}

/// An adjacency's number, good as long as nobody else got it: for what outlives a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopId {
    /// The number.
    pub hop: u32,
    /// The owner's; a row has it, too.
    pub generation: u32,
}

/// State of an interface that its adjacencies use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Link {
    /// Whether the interface can send.
    pub up: bool,
    /// The source address of frames.
    pub mac: [u8; 6],
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Whether the link has exactly one peer, whose address is never resolved.
    pub point_to_point: bool,
    /// MAC address of the peer; zeros if the link needs none.
    pub peer: MacAddress,
}

impl Link {
    /// The header of a frame to `destination` that carries `ethertype`.
    pub fn header(&self, destination: MacAddress, ethertype: EtherType) -> EthernetHeader {
        EthernetHeader { destination, source: MacAddress(self.mac), ethertype }
    }
}

/// An adjacency as control sees it.
#[derive(Clone, Debug)]
pub struct Adjacency<F: IpFamily> {
    /// Its link.
    pub interface: InterfaceId,
    /// The neighbour; none for the link as a whole.
    pub next_hop: Option<F::Address>,
    /// The neighbour's MAC address, if known.
    pub mac: Option<MacAddress>,
    /// Number of references to the adjacency.
    pub users: u32,
    generation: u32,
}

/// The numbers of adjacencies. All families have theirs from here: clients know an adjacency by its number.
pub struct Numbers {
    generations: Vec<u32>,
    /// Packets and bytes sent by each.
    counters: Counters,
    released: (Sender<u32>, Receiver<u32>),
    free: VecDeque<u32>,
}

impl Numbers {
    /// None is taken; what each adjacency sends is counted there.
    pub fn new(counters: Counters) -> Numbers {
        let (generations, free) = (vec![0; FIRST_ADJACENCY as usize], VecDeque::new());
        Numbers { generations, counters, released: channel(), free }
    }
    /// A number that is nobody's, and its generation.
    fn take(&mut self) -> HopId {
        self.free.extend(self.released.1.try_iter());
        let hop = self.free.pop_front().unwrap_or_else(|| {
            self.generations.push(0);
            self.counters.grow(self.generations.len() as u32);
            self.generations.len() as u32 - 1
        });
        self.counters.clear(hop);
        let generation = &mut self.generations[hop as usize];
        *generation = generation.wrapping_add(1);
        HopId { hop, generation: *generation }
    }
}

/// Bytes of a packet at most that needs no second look, where so many go at most: packets that are longer than what the least of
/// all paths takes may be for its host.
fn second_look(mtu: u16, least: Option<u16>) -> u16 {
    least.map_or(mtu, |least| mtu.min(least))
}

/// Path MTUs, by the table in which the host is looked up and the host's address.
pub type PathMtus<F> = SharedMap<(TableId, <F as IpFamily>::Address), u16>;

/// All adjacencies of a family. Users acquire an adjacency and release it later.
pub struct Adjacencies<F: IpFamily> {
    slots: Vec<Option<Adjacency<F>>>,
    given: Rc<RefCell<Numbers>>,
    numbers: BTreeMap<(InterfaceId, Option<F::Address>), u32>,
    links: HashMap<InterfaceId, Link>,
    /// The tables of interfaces, where not the default one.
    tables: HashMap<InterfaceId, TableId>,
    /// Path MTUs of hosts where they may be below the link's MTU, and the number of hosts per MTU.
    path_mtus: PathMtus<F>,
    path_mtu_counts: BTreeMap<u16, usize>,
    /// Neighbours by address, whatever their interface.
    neighbors: BTreeSet<(F::Address, u32)>,
    /// Addresses that stand for all on a link, to which packets are sent as broadcasts.
    broadcasts: BTreeSet<(InterfaceId, F::Address)>,
    published: Publisher<AdjacencyTable<F>>,
    domain: Domain,
    counters: Counters,
    released: Sender<u32>,
    held: Option<Held>,
}

/// Changes yet to be published.
#[derive(Default)]
struct Held {
    changed: Vec<u32>,
    released: Vec<u32>,
}

/// Gives a number back when the last worker has let go of it.
struct Release(u32, Sender<u32>);
impl Drop for Release {
    fn drop(&mut self) {
        // With the adjacencies gone their numbers need no owner.
        let _ = self.1.send(self.0);
    }
}

impl<F: IpFamily> Adjacencies<F> {
    /// None yet.
    pub fn new(domain: &Domain, given: Rc<RefCell<Numbers>>) -> Adjacencies<F> {
        let (counters, released) = (given.borrow().counters.clone(), given.borrow().released.0.clone());
        Adjacencies {
            slots: vec![],
            given,
            numbers: BTreeMap::new(),
            links: HashMap::new(),
            tables: HashMap::new(),
            path_mtus: PathMtus::<F>::default(),
            path_mtu_counts: BTreeMap::new(),
            neighbors: BTreeSet::new(),
            broadcasts: BTreeSet::new(),
            published: Publisher::new(domain, AdjacencyTable::default()),
            domain: domain.clone(),
            counters,
            released,
            held: None,
        }
    }
    /// The table that workers read.
    pub fn snapshot(&self) -> Snapshot<AdjacencyTable<F>> {
        self.published.snapshot()
    }
    /// The counters of packets sent, by number.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// An adjacency.
    pub fn get(&self, hop: u32) -> Option<&Adjacency<F>> {
        self.slots.get(hop as usize)?.as_ref()
    }
    /// All adjacencies and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Adjacency<F>)> {
        self.from(0).filter_map(|(hop, adjacency)| Some((hop, adjacency?)))
    }
    /// All numbers from this one on, with their adjacencies.
    pub fn from(&self, first: u32) -> impl Iterator<Item = (u32, Option<&Adjacency<F>>)> {
        (first..).zip(self.slots.get(first as usize..).unwrap_or_default()).map(|(hop, slot)| (hop, slot.as_ref()))
    }
    /// The row of an adjacency as it is published.
    pub fn row(&self, hop: u32) -> &AdjacencyRow {
        self.published.current().row(hop)
    }
    /// The number to be kept beyond a frame.
    pub fn id(&self, hop: u32) -> HopId {
        HopId { hop, generation: self.given.borrow().generations.get(hop as usize).copied().unwrap_or(0) }
    }
    /// The number of the adjacency with a neighbour, or with a link as a whole, if there is one.
    pub fn find(&self, interface: InterfaceId, next_hop: Option<F::Address>) -> Option<u32> {
        self.numbers.get(&(interface, next_hop)).copied()
    }
    /// The link of an interface.
    pub fn link(&self, interface: InterfaceId) -> Option<&Link> {
        self.links.get(&interface)
    }

    /// The adjacency with a neighbour, or with a link as a whole; made if there is none. To be released.
    pub fn acquire(&mut self, interface: InterfaceId, next_hop: Option<F::Address>) -> u32 {
        if let Some(&hop) = self.numbers.get(&(interface, next_hop)) {
            self.slots[hop as usize].iter_mut().for_each(|adjacency| adjacency.users += 1);
            return hop;
        }
        let HopId { hop, generation } = self.given.borrow_mut().take();
        if self.slots.len() <= hop as usize {
            self.slots.resize(hop as usize + 1, None);
        }
        self.slots[hop as usize] = Some(Adjacency { interface, next_hop, mac: None, users: 1, generation });
        self.numbers.insert((interface, next_hop), hop);
        self.neighbors.extend(next_hop.map(|next_hop| (next_hop, hop)));
        self.publish(&[hop]);
        hop
    }
    /// One user less; the last one's release ends the adjacency.
    pub fn release(&mut self, hop: u32) {
        let Some(Some(adjacency)) = self.slots.get_mut(hop as usize) else { return };
        adjacency.users -= 1;
        if adjacency.users > 0 {
            return;
        }
        let key = (adjacency.interface, adjacency.next_hop);
        self.slots[hop as usize] = None;
        self.numbers.remove(&key);
        key.1.iter().for_each(|next_hop| _ = self.neighbors.remove(&(*next_hop, hop)));
        self.publish(&[hop]);
        match &mut self.held {
            Some(held) => held.released.push(hop),
            None => self.retire(hop),
        }
    }
    /// Notes the neighbour's MAC address, or that it is no longer known.
    pub fn set_mac(&mut self, hop: u32, mac: Option<MacAddress>) {
        let Some(Some(adjacency)) = self.slots.get_mut(hop as usize) else { return };
        if std::mem::replace(&mut adjacency.mac, mac) != mac {
            self.publish(&[hop]);
        }
    }
    /// Notes what an interface has become; None when it is gone. True if that changed anything.
    pub fn set_link(&mut self, interface: InterfaceId, link: Option<Link>) -> bool {
        let changed = match &link {
            Some(link) => self.links.get(&interface) != Some(link),
            None => self.links.contains_key(&interface),
        };
        if changed {
            match link {
                Some(link) => drop(self.links.insert(interface, link)),
                None => {
                    self.links.remove(&interface);
                    self.tables.remove(&interface);
                }
            }
            self.publish(&self.on_link(interface));
        }
        changed
    }
    fn on_link(&self, interface: InterfaceId) -> Vec<u32> {
        let on_link = self.numbers.range((interface, None)..).take_while(|((on, _), _)| *on == interface);
        on_link.map(|(_, hop)| *hop).collect()
    }
    /// Notes the table of an interface, whose paths have MTUs.
    pub fn set_table(&mut self, interface: InterfaceId, table: TableId) {
        if self.tables.insert(interface, table) != Some(table) {
            self.publish(&self.on_link(interface));
        }
    }
    /// The table of an interface.
    pub fn table_of(&self, interface: InterfaceId) -> TableId {
        self.tables.get(&interface).copied().unwrap_or_default()
    }
    /// The neighbours of an interface from one address to another whose MAC addresses are known.
    pub(crate) fn known(
        &self,
        interface: InterfaceId,
        (first, last): (F::Address, F::Address),
    ) -> impl Iterator<Item = F::Address> + '_ {
        let all = self.numbers.range((interface, Some(first))..=(interface, Some(last)));
        let known = |hop: u32| self.get(hop).is_some_and(|adjacency| adjacency.mac.is_some());
        all.filter(move |(_, hop)| known(**hop)).filter_map(|((_, address), _)| *address)
    }
    /// Notes how many bytes of a packet a host gets at most; None leaves that to the links that lead to it.
    pub fn set_path_mtu(&mut self, table: TableId, peer: F::Address, mtu: Option<u16>) {
        let before = self.path_mtu_min();
        let old = match mtu {
            Some(mtu) => self.path_mtus.insert((table, peer), mtu),
            None => self.path_mtus.remove(&(table, peer)),
        };
        if let Some(old) = old
            && let Entry::Occupied(mut count) = self.path_mtu_counts.entry(old)
        {
            match *count.get() {
                1 => _ = count.remove(),
                _ => *count.get_mut() -= 1,
            }
        }
        mtu.into_iter().for_each(|mtu| *self.path_mtu_counts.entry(mtu).or_default() += 1);
        let mut hops: Vec<u32> = self.neighbors.range((peer, 0)..=(peer, u32::MAX)).map(|(_, hop)| *hop).collect();
        let after = self.path_mtu_min();
        if after != before {
            // Wherever packets go; but where a link takes none that are longer, nothing becomes of it.
            let is_concerned = |mtu: u16| second_look(mtu, before) != second_look(mtu, after);
            let all = self.iter().map(|(hop, _)| hop);
            hops.extend(all.filter(|hop| is_concerned(self.row(*hop).mtu())));
        }
        self.publish(&hops);
    }
    /// The least of all.
    fn path_mtu_min(&self) -> Option<u16> {
        self.path_mtu_counts.first_key_value().map(|(mtu, _)| *mtu)
    }
    /// Path MTUs by table and host.
    pub(crate) fn path_mtus(&self) -> &PathMtus<F> {
        &self.path_mtus
    }
    /// Notes whether an address stands for all on a link, who get its packets as broadcasts.
    pub fn set_broadcast(&mut self, interface: InterfaceId, address: F::Address, is_broadcast: bool) {
        let changed = match is_broadcast {
            true => self.broadcasts.insert((interface, address)),
            false => self.broadcasts.remove(&(interface, address)),
        };
        if let Some(hop) = self.find(interface, Some(address)).filter(|_| changed) {
            self.publish(&[hop]);
        }
    }
    /// Bytes of a packet at most that go to a neighbour.
    fn mtu(&self, adjacency: &Adjacency<F>, link: &Link) -> u16 {
        let table = self.table_of(adjacency.interface);
        let of_path = adjacency.next_hop.and_then(|peer| self.path_mtus.get(&(table, peer)));
        of_path.map_or(link.mtu, |mtu| link.mtu.min(*mtu))
    }

    /// Makes many changes one publication: each copies the list of pages, and the pages that it changes.
    pub fn hold(&mut self) {
        self.held.get_or_insert_default();
    }
    /// Publishes what changed since [`Adjacencies::hold`].
    pub fn publish_held(&mut self) {
        let Some(Held { changed, released }) = self.held.take() else { return };
        self.publish(&changed);
        released.into_iter().for_each(|hop| self.retire(hop));
    }
    fn retire(&self, hop: u32) {
        self.domain.retire(Release(hop, self.released.clone()));
    }

    /// Publishes the table with these rows made anew.
    fn publish(&mut self, hops: &[u32]) {
        if hops.is_empty() {
            return;
        }
        if let Some(held) = &mut self.held {
            return held.changed.extend(hops);
        }
        let mut table = self.published.current().clone();
        for &hop in hops {
            let slot = &self.slots[hop as usize];
            *table.rows.get_mut(hop as usize) = slot.as_ref().map_or(ABSENT, |adjacency| self.make_row(adjacency));
            *table.next_hops.get_mut(hop as usize) = slot.as_ref().and_then(|adjacency| adjacency.next_hop);
        }
        self.published.publish(table);
    }
    fn make_row(&self, adjacency: &Adjacency<F>) -> AdjacencyRow {
        let default = Link::default();
        let link = self.links.get(&adjacency.interface).unwrap_or(&default);
        let mut row = [0; 32];
        let for_all = adjacency.next_hop.filter(|to| self.broadcasts.contains(&(adjacency.interface, *to)));
        let mac = adjacency.mac.or(for_all.map(|_| MacAddress::BROADCAST));
        let state = match (adjacency.next_hop, mac) {
            _ if link.point_to_point => State::Complete,
            (None, _) => State::Glean,
            (Some(_), None) => State::Incomplete,
            (Some(_), Some(_)) => State::Complete,
        };
        let header = link.header(mac.unwrap_or(link.peer), F::ETHERTYPE);
        row[..14].copy_from_slice(header.as_bytes());
        row[14] = state as u8;
        let mtu = self.mtu(adjacency, link);
        // Without the neighbor's address every packet needs one.
        let is_complete = state == State::Complete;
        let second_look = if is_complete { second_look(mtu, self.path_mtu_min()) } else { 0 };
        let longest = u32::from(second_look.min(AdjacencyRow::SECOND_LOOK_MAX));
        let sending = longest << AdjacencyRow::TX_BITS | adjacency.interface.0 & AdjacencyRow::TX;
        row[16..20].copy_from_slice(&sending.to_le_bytes());
        row[20..24].copy_from_slice(&adjacency.generation.to_be_bytes());
        row[24..26].copy_from_slice(&mtu.to_be_bytes());
        AdjacencyRow(row)
    }
}

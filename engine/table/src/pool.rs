//! Generation-checked ids: what outlives a frame holds an id, and notices when the object has gone.
//!
//! The control thread keeps objects in [`Slots`]. A slot is used again under a new generation, so an id of an
//! object that was removed finds nothing, even when another object has taken its slot.
//!
//! Workers do not see the slots but a snapshot of [`Rows`]: what they need of each object, under the same ids.
//! A worker that takes a packet from a queue reads the current rows and asks for the id it kept. If the row
//! has another generation, the object was removed while the packet waited, and the packet is dropped for that
//! reason. Ids that live within one frame may be used as bare indices, for a frame sees one snapshot.
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// Names an object of type `T` for as long as it exists.
pub struct Id<T> {
    index: u32,
    generation: u32,
    object: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    const fn new(index: u32, generation: u32) -> Id<T> {
        Id { index, generation, object: PhantomData }
    }

    /// The slot, which later objects may have too.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Which user of the slot; the first is 1.
    #[inline(always)]
    pub const fn generation(self) -> u32 {
        self.generation
    }

    /// The id as one word, for columns of packets and for tables.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The id from [`Id::to_bits`]. Any other word is an id that finds nothing, or what it happens to name.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Id<T> {
        Id::new(bits as u32, (bits >> 32) as u32)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_bits().hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Why a pool refused an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The limit is reached.
    #[error("pool: all {max} slots are in use; remove objects or raise the limit")]
    Full {
        /// The pool's limit.
        max: u32,
    },
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Objects under generation-checked ids, on the control thread.
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    max: u32,
    len: usize,
}

impl<T> Slots<T> {
    /// No objects, and room for `max`. Indices stay below that.
    pub fn new(max: u32) -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new(), max, len: 0 }
    }

    /// Adds an object.
    pub fn insert(&mut self, value: T) -> Result<Id<T>, PoolError> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < self.max as usize => {
                self.slots.push(Slot { generation: 0, value: None });
                self.slots.len() as u32 - 1
            }
            None => return Err(PoolError::Full { max: self.max }),
        };
        let slot = &mut self.slots[index as usize];
        slot.generation += 1;
        slot.value = Some(value);
        self.len += 1;
        Ok(Id::new(index, slot.generation))
    }

    /// Removes an object. Its id finds nothing from now on.
    pub fn remove(&mut self, id: Id<T>) -> Option<T> {
        let slot = self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)?;
        let value = slot.value.take()?;
        self.len -= 1;
        // After its last generation a slot stays empty, or old ids would come to life.
        if slot.generation < u32::MAX {
            self.free.push(id.index);
        }
        Some(value)
    }

    /// The object of this id, if it still exists.
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        let slot = self.slots.get(id.index as usize).filter(|slot| slot.generation == id.generation)?;
        slot.value.as_ref()
    }

    /// The object of this id, to change it.
    pub fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)?;
        slot.value.as_mut()
    }

    /// The id of the object that has this slot now.
    pub fn id_at(&self, index: u32) -> Option<Id<T>> {
        let slot = self.slots.get(index as usize).filter(|slot| slot.value.is_some())?;
        Some(Id::new(index, slot.generation))
    }

    /// All objects in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| Some((Id::new(index, slot.generation), slot.value.as_ref()?)))
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One row per object for workers, to be published as a snapshot.
    pub fn rows<R>(&self, row: impl Fn(&T) -> R) -> Rows<T, R> {
        let rows = self.slots.iter().map(|slot| slot.value.as_ref().map(|value| (slot.generation, row(value))));
        Rows { rows: rows.collect(), object: PhantomData }
    }
}

/// Rows of the objects in [`Slots`], under the same ids.
pub struct Rows<T, R> {
    rows: Box<[Option<(u32, R)>]>,
    object: PhantomData<fn() -> T>,
}

impl<T, R> Rows<T, R> {
    /// The row of this id, if the object existed when the snapshot was made.
    #[inline(always)]
    pub fn get(&self, id: Id<T>) -> Option<&R> {
        match self.rows.get(id.index as usize) {
            Some(Some((generation, row))) if *generation == id.generation => Some(row),
            _ => None,
        }
    }

    /// The row in this slot, whichever object has it: for indices that live no longer than a frame.
    #[inline(always)]
    pub fn at(&self, index: u32) -> Option<&R> {
        match self.rows.get(index as usize) {
            Some(Some((_, row))) => Some(row),
            _ => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Domain, Publisher};

    #[test]
    fn an_id_does_not_find_the_next_object_in_its_slot() {
        let mut slots = Slots::new(10);
        let first = slots.insert("first").unwrap();
        let other = slots.insert("other").unwrap();
        assert_eq!(slots.get(first), Some(&"first"));
        assert_eq!((slots.remove(first), slots.remove(first)), (Some("first"), None));
        assert_eq!(slots.id_at(first.index()), None);
        let second = slots.insert("second").unwrap();
        assert_eq!((second.index(), second.generation()), (first.index(), first.generation() + 1));
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.get_mut(first), None);
        assert_eq!((slots.get(second), slots.id_at(second.index())), (Some(&"second"), Some(second)));
        assert_eq!(slots.iter().map(|(id, _)| id).collect::<Vec<_>>(), [second, other]);
        assert_eq!(Id::<&str>::from_bits(second.to_bits()), second);
        assert_eq!(slots.len(), 2);
    }

    #[test]
    fn the_limit_is_a_typed_error() {
        let mut slots = Slots::new(1);
        let id = slots.insert(1).unwrap();
        assert_eq!(slots.insert(2), Err(PoolError::Full { max: 1 }));
        slots.remove(id);
        assert!(slots.insert(2).is_ok());
    }

    #[test]
    fn a_slot_ends_with_its_last_generation() {
        let mut slots = Slots::new(2);
        let id = slots.insert(1).unwrap();
        slots.remove(id);
        slots.slots[0].generation = u32::MAX - 1;
        let last = slots.insert(2).unwrap();
        assert_eq!(last.generation(), u32::MAX);
        slots.remove(last);
        assert_eq!(slots.insert(3).unwrap().index(), 1);
    }

    /// An adjacency goes, and its slot is taken by another, while a packet waits for it in a queue.
    #[test]
    fn a_packet_in_a_queue_notices_that_its_adjacency_is_gone() {
        let domain = Domain::new();
        let reader = domain.register();
        let mut adjacencies = Slots::new(10);
        let kept = adjacencies.insert(String::from("192.0.2.1")).unwrap();
        let mut published = Publisher::new(&domain, adjacencies.rows(String::len));
        let snapshot = published.snapshot();
        assert_eq!(snapshot.read(reader.guard()).get(kept), Some(&9));

        adjacencies.remove(kept);
        published.publish(adjacencies.rows(String::len));
        assert_eq!(snapshot.read(reader.guard()).get(kept), None);
        assert_eq!(snapshot.read(reader.guard()).at(kept.index()), None);

        let other = adjacencies.insert(String::from("198.51.100.1")).unwrap();
        published.publish(adjacencies.rows(String::len));
        assert_eq!(other.index(), kept.index());
        assert_eq!(snapshot.read(reader.guard()).get(kept), None);
        assert_eq!(snapshot.read(reader.guard()).get(other), Some(&12));
    }
}

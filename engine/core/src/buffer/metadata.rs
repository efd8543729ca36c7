//! Metadata of packets: a word by key, beside the packet's buffer. It follows the packet from node to node, to other
//! workers, into queues for neighbors and for reassembly, to copies and fragments. A flag says whether a packet has
//! any, so nodes that do not ask pay nothing.

use std::fmt;
use std::marker::PhantomData;

/// Keys there can be: what fits a header's cache line.
pub const METADATA_KEYS: usize = 5;

/// A value that fits a word.
pub trait Metadata: Copy + 'static {
    /// The word.
    fn to_word(self) -> u64;
    /// The value of a word.
    fn of_word(word: u64) -> Self;
}

impl Metadata for u64 {
    fn to_word(self) -> u64 {
        self
    }
    fn of_word(word: u64) -> u64 {
        word
    }
}

impl Metadata for u32 {
    fn to_word(self) -> u64 {
        self.into()
    }
    fn of_word(word: u64) -> u32 {
        word as u32
    }
}

/// Key by which a value of this type is set and read. Rooms get it once, when they register
/// ([`Dataplane::metadata`](crate::Dataplane::metadata)), and pass it to the rooms that read the value.
pub struct MetadataKey<T> {
    number: u8,
    value: PhantomData<fn() -> T>,
}

impl MetadataKey<u64> {
    /// Its number, for a node of foreign make.
    pub fn number(self) -> u32 {
        self.number.into()
    }
    /// The key of this number, for a node of foreign make: a plugin's, which knows values as words.
    pub fn foreign(number: u32) -> Option<MetadataKey<u64>> {
        let number = u8::try_from(number).ok().filter(|number| usize::from(*number) < METADATA_KEYS)?;
        Some(MetadataKey { number, value: PhantomData })
    }
}

impl<T> Clone for MetadataKey<T> {
    fn clone(&self) -> MetadataKey<T> {
        *self
    }
}
impl<T> Copy for MetadataKey<T> {}
impl<T> fmt::Debug for MetadataKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetadataKey({})", self.number)
    }
}

/// The values of a packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PacketMetadata {
    /// Which of the words there are, a bit for each.
    present: u32,
    /// In halves, so that all of it fits behind the rest of a header.
    words: [[u32; 2]; METADATA_KEYS],
}

impl PacketMetadata {
    /// The value of a key, if there is one.
    #[inline(always)]
    pub fn get<T: Metadata>(&self, key: MetadataKey<T>) -> Option<T> {
        let [low, high] = self.words.get(usize::from(key.number))?;
        (self.present & 1 << key.number != 0).then(|| T::of_word(u64::from(*low) | u64::from(*high) << 32))
    }
    #[inline(always)]
    pub(crate) fn set<T: Metadata>(&mut self, key: MetadataKey<T>, value: T) {
        let word = value.to_word();
        if let Some(place) = self.words.get_mut(usize::from(key.number)) {
            *place = [word as u32, (word >> 32) as u32];
            self.present |= 1 << key.number;
        }
    }
}

/// Why a key cannot be had.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetadataError {
    /// Two rooms want a key of one name.
    #[error("metadata of packets called `{0}` are there already; rename one of them")]
    Taken(&'static str),
    /// All keys are taken.
    #[error("there is no key left for `{name}`: {taken} have them; have one of these hold several values")]
    Full {
        /// Name of the key that was asked for.
        name: &'static str,
        /// The names of those that there are.
        taken: String,
    },
}

/// The keys that rooms have, by number.
#[derive(Clone, Default, Debug)]
pub struct MetadataKeys(Vec<&'static str>);

impl MetadataKeys {
    /// A new key of this name, for its one owner.
    pub(crate) fn add<T: Metadata>(&mut self, name: &'static str) -> Result<MetadataKey<T>, MetadataError> {
        if self.0.contains(&name) {
            return Err(MetadataError::Taken(name));
        }
        Ok(MetadataKey { number: self.shared(name)?.number, value: PhantomData })
    }
    /// The key of this name, for plugins, which know values as words; a new one if there is none yet.
    ///
    /// # Errors
    /// If no key is left.
    pub fn shared(&mut self, name: &'static str) -> Result<MetadataKey<u64>, MetadataError> {
        let number = self.names().position(|known| known == name).unwrap_or(self.0.len());
        if number == METADATA_KEYS {
            return Err(MetadataError::Full { name, taken: self.0.join(", ") });
        }
        if number == self.0.len() {
            self.0.push(name);
        }
        Ok(MetadataKey { number: number as u8, value: PhantomData })
    }
    /// Their names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_owner_each_and_are_few() {
        let mut keys = MetadataKeys::default();
        let first = keys.add::<u32>("first").expect("there is room");
        assert_eq!(keys.add::<u64>("first").expect_err("taken"), MetadataError::Taken("first"));
        let names = ["second", "third", "fourth", "fifth"];
        let others = names.map(|name| keys.add::<u64>(name).expect("there is room"));
        let full = keys.add::<u64>("sixth").expect_err("full").to_string();
        assert!(full.contains("`sixth`") && full.contains("first, second, third, fourth, fifth"), "{full}");
        let known = ["first", "fifth"].map(|name| keys.shared(name).expect("it is there").number());
        assert_eq!((known, keys.names().count()), ([0, 4], METADATA_KEYS));
        assert!(keys.shared("sixth").is_err());
        let mut of_packet = PacketMetadata::default();
        of_packet.set(first, 7);
        of_packet.set(others[3], 9);
        assert_eq!(
            (of_packet.get(first), of_packet.get(others[0]), of_packet.get(others[3])),
            (Some(7), None, Some(9))
        );
    }
}

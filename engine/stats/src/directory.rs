//! The entries: as control keeps them, and as they are written for clients. Called between the marks of a change only
//! (see [`Edit`](crate::Edit)), but for lengths and values, which clients may find changed at any time.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::{Hash, Index};
use crate::layout::{self, ENTRY_NAME, ENTRY_VALUE, ENTRY_WORDS, EntryType, NAME_BYTES};
use crate::memory::{Block, Memory, PAGE};
use crate::rows::{Cell, Rows};
use crate::space::Space;

/// An entry, wherever in the directory it is. The number of one that was removed is given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryId(u32);

/// A vector takes at most one part in so many of the memory that is left, so that the directory and later vectors find room.
const PART: usize = 32;

/// In place of a place: there is no such entry.
const NOWHERE: u32 = u32::MAX;

/// An entry. PERF: its name is in the memory alone, for with a hundred thousand interfaces there are two million entries.
pub(crate) struct Entry {
    pub id: EntryId,
    pub value: Value,
}

/// The name of an entry, read from the memory.
pub(crate) struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    /// The name as text: [`entry_name`] leaves ASCII alone.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

pub(crate) enum Value {
    Number {
        kind: EntryType,
        value: u64,
    },
    Counters {
        rows: Rows,
        /// Where the rows' lengths are.
        lengths: Vec<usize>,
        shown: usize,
        /// The vector of pointers to rows.
        at: usize,
        /// Whether the vector may be withdrawn; no symlink leads to it.
        is_lent: bool,
    },
    Names {
        vector: Stretch,
        texts: Vec<Option<Text>>,
    },
    Symlink {
        to: EntryId,
        column: u32,
    },
}

impl Value {
    fn kind(&self) -> EntryType {
        match self {
            Value::Number { kind, .. } => *kind,
            Value::Counters { rows: Rows::Simple(_), .. } => EntryType::Simple,
            Value::Counters { rows: Rows::Combined(_), .. } => EntryType::Combined,
            Value::Names { .. } => EntryType::Names,
            Value::Symlink { .. } => EntryType::Symlink,
        }
    }
}

/// A text in the memory.
pub(crate) struct Text {
    vector: Stretch,
    pub text: String,
}

/// A vector that may move: the word of its length, before its elements, and the words of both that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    at: usize,
    words: usize,
}

impl Stretch {
    /// The word of its first element.
    fn data(self) -> usize {
        self.at + 1
    }
}

/// A lent vector: its entry, its rows, and its words.
pub(crate) type LentVector<C> = (EntryId, Vec<Block<C>>, Vec<Stretch>);

pub(crate) struct Directory {
    memory: Arc<Memory>,
    space: Space,
    pub entries: Vec<Entry>,
    /// The places of entries by their numbers; [`NOWHERE`] for numbers that are free.
    places: Vec<u32>,
    free: Vec<EntryId>,
    names: Index,
    vector: Stretch,
    /// Whether it was told that there is no room left.
    told: bool,
}

impl Directory {
    /// An empty one. The memory is zero behind its header, and has a page at least.
    pub fn new(memory: Arc<Memory>) -> Directory {
        // A vector must not end where the memory does: vpp_papi takes that for an overrun.
        let mut space = Space::new(layout::HEADER_WORDS, memory.words().len() - 1);
        let (at, words) = space.take(1 + 2 * ENTRY_WORDS).unwrap_or((layout::HEADER_WORDS, 1));
        let (vector, entries) = (Stretch { at, words }, vec![]);
        let (places, free, names) = (vec![], vec![], Index::default());
        let directory = Directory { memory, space, entries, places, free, names, vector, told: false };
        directory.store(layout::DIRECTORY, directory.address(vector.data()));
        directory
    }
    fn store(&self, word: usize, value: u64) {
        self.memory.words()[word].store(value, Relaxed);
    }
    fn address(&self, word: usize) -> u64 {
        self.memory.base() + word as u64 * 8
    }
    fn place(&self, id: EntryId) -> Option<usize> {
        self.places.get(id.0 as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }
    /// The entry of a name.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.find(self.names.hash(name), name)
    }
    fn find(&self, hash: Hash, name: &str) -> Option<&Entry> {
        let has_it = |id| self.place(EntryId(id)).is_some_and(|place| self.has_name(place, name));
        self.get(EntryId(self.names.find(hash, has_it)?))
    }
    /// The words of the name of the entry at a place.
    fn name_words(&self, place: usize) -> &[AtomicU64] {
        let at = self.vector.data() + place * ENTRY_WORDS;
        &self.memory.words()[at + ENTRY_NAME..at + ENTRY_WORDS]
    }
    fn has_name(&self, place: usize, name: &str) -> bool {
        let parts = name.as_bytes().chunks(8).map(word_of).chain([0]);
        name.len() < NAME_BYTES
            && self.name_words(place).iter().zip(parts).all(|(word, part)| word.load(Relaxed) == part)
    }
    /// The name of the entry at a place.
    pub fn name(&self, place: usize) -> Name {
        let mut bytes = [0; NAME_BYTES];
        for (to, word) in bytes.chunks_mut(8).zip(self.name_words(place)) {
            to.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
        Name { bytes, length }
    }
    /// The name of an entry.
    pub fn name_of(&self, id: EntryId) -> Option<Name> {
        Some(self.name(self.place(id)?))
    }
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(self.place(id)?)
    }
    /// Says once that something is not shown.
    fn full(&mut self, name: &str) {
        if !std::mem::replace(&mut self.told, true) {
            let bytes = self.memory.words().len() * 8;
            tracing::warn!(
                "the statistics segment of {bytes} bytes is full: {name}, and maybe more, is not shown in it"
            );
        }
    }

    /// Adds an entry. None if there is one of this name already, or no room: it is then not shown, and that is told.
    pub fn add(&mut self, name: &str, value: Value) -> Option<EntryId> {
        let name = entry_name(name);
        let hash = self.names.hash(&name);
        if self.find(hash, &name).is_some() {
            tracing::warn!("there are two statistics of the name {name}: the second one is not shown");
            return None;
        }
        let words = 1 + (self.entries.len() + 1) * ENTRY_WORDS;
        if words > self.vector.words && !self.move_entries(words) {
            self.full(&name);
            return None;
        }
        let place = self.entries.len();
        let id = self.free.pop().unwrap_or_else(|| {
            self.places.push(NOWHERE);
            EntryId(self.places.len() as u32 - 1)
        });
        self.places[id.0 as usize] = place as u32;
        self.names.insert(hash, id.0);
        self.entries.push(Entry { id, value });
        self.write(place);
        write_bytes(self.name_words(place), name.as_bytes());
        self.store(self.vector.at, self.entries.len() as u64);
        Some(id)
    }
    /// Takes an entry away. The last one takes its place, so that no place is ever empty: GoVPP ends its list at one.
    pub fn remove(&mut self, id: EntryId) {
        let Some(place) = self.place(id) else { return };
        self.names.remove(self.names.hash(self.name(place).as_str()), id.0);
        self.entries.swap_remove(place);
        self.places[id.0 as usize] = NOWHERE;
        self.free.push(id);
        if let Some(moved) = self.entries.get(place) {
            let has_no_symlinks = matches!(moved.value, Value::Symlink { .. } | Value::Counters { is_lent: true, .. });
            let moved = moved.id;
            self.places[moved.0 as usize] = place as u32;
            self.write(place);
            let (to, from) = (self.name_words(place), self.name_words(self.entries.len()));
            to.iter().zip(from).for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
            // Nothing leads to a symlink or a lent vector, and the others hardly ever move.
            if !has_no_symlinks {
                let leads = |entry: &Entry| matches!(entry.value, Value::Symlink { to, .. } if to == moved);
                let places = 0..self.entries.len();
                places.filter(|at| leads(&self.entries[*at])).for_each(|at| self.write(at));
            }
        }
        self.store(self.vector.at, self.entries.len() as u64);
        let end = self.vector.data() + self.entries.len() * ENTRY_WORDS;
        (end..end + ENTRY_WORDS).for_each(|word| self.store(word, 0));
    }
    /// Gives an entry another name. False, and it keeps its name, if another entry has that.
    pub fn rename(&mut self, id: EntryId, name: &str) -> bool {
        let (name, Some(place)) = (entry_name(name), self.place(id)) else { return false };
        if self.named(&name).is_some_and(|other| other.id != id) {
            return false;
        }
        self.names.remove(self.names.hash(self.name(place).as_str()), id.0);
        self.names.insert(self.names.hash(&name), id.0);
        write_bytes(self.name_words(place), name.as_bytes());
        true
    }
    /// Writes type and value of an entry at its place.
    fn write(&self, place: usize) {
        let (entry, at) = (&self.entries[place], self.vector.data() + place * ENTRY_WORDS);
        let value = match &entry.value {
            Value::Number { value, .. } => *value,
            Value::Counters { at, .. } => self.address(at + 1),
            Value::Names { vector, .. } => self.address(vector.data()),
            Value::Symlink { to, column } => layout::symlink(self.place(*to).unwrap_or(0) as u32, *column),
        };
        let words = &self.memory.words()[at..at + ENTRY_NAME];
        words[0].store(entry.value.kind() as u64, Relaxed);
        words[ENTRY_VALUE].store(value, Relaxed);
    }
    /// Takes more words for a vector and copies its elements. None, and nothing changed, if there is no room.
    fn enlarge(&mut self, vector: Stretch, words: usize) -> Option<Stretch> {
        let fresh = self.space.first_fresh();
        let (at, words) = self.space.take(words)?;
        let all = self.memory.words();
        let kept = vector.words.min(words);
        for (new, old) in all[at..at + kept].iter().zip(&all[vector.at..vector.at + kept]) {
            new.store(old.load(Relaxed), Relaxed);
        }
        // What was never given out is zero, and takes no memory until it is used.
        if at < fresh {
            all[at + kept..at + words].iter().for_each(|word| word.store(0, Relaxed));
        }
        self.space.give_back(vector.at, vector.words);
        Some(Stretch { at, words })
    }
    fn move_entries(&mut self, words: usize) -> bool {
        let Some(vector) = self.enlarge(self.vector, words) else { return false };
        self.vector = vector;
        self.store(layout::DIRECTORY, self.address(vector.data()));
        true
    }

    /// Changes a number. Clients see it at once.
    pub fn set(&mut self, id: EntryId, new: u64) {
        let Some(place) = self.place(id) else { return };
        if let Value::Number { value, .. } = &mut self.entries[place].value {
            *value = new;
            self.store(self.vector.data() + place * ENTRY_WORDS + ENTRY_VALUE, new);
        }
    }

    /// Adds a vector with so many rows, which have room for `most` cells, or for as many as a part of what is left has. None
    /// if it cannot be shown at all.
    pub fn add_vector<C: Cell>(&mut self, name: &str, rows: usize, most: usize) -> Option<(EntryId, Vec<Block<C>>)> {
        let fair = self.space.left() / PART / (rows.max(1) * C::WORDS);
        let most = most.min(fair);
        let Some(at) = self.space.reserve(1 + rows) else {
            self.full(name);
            return None;
        };
        let (mut blocks, mut lengths) = (vec![], vec![]);
        for row in 0..rows {
            // The length stands at the end of a line, so that the cells begin the next.
            let reserved = self.space.reserve(8 + most * C::WORDS).map(|line| (line + 8, most));
            let Some((data, len)) = reserved.or_else(|| Some((self.space.reserve(8)? + 8, 0))) else {
                self.full(name);
                return None;
            };
            blocks.push(Block::of(&self.memory, data, len));
            lengths.push(data - 1);
            self.store(at + 1 + row, self.address(data));
        }
        self.store(at, rows as u64);
        let value = Value::Counters { rows: C::rows(blocks.clone()), lengths, shown: 0, at, is_lent: false };
        Some((self.add(name, value)?, blocks))
    }
    /// Adds a vector with so many rows of `cells` cells, all of them shown and zero, whose words are lent: the caller gives the
    /// stretches back when no thread writes to them any more. None if there is no room for it, or its name is taken.
    pub fn lend_vector<C: Cell>(&mut self, name: &str, rows: usize, cells: usize) -> Option<LentVector<C>> {
        let words = 8 + cells * C::WORDS;
        if rows * words > self.space.left() / PART {
            self.full(name);
            return None;
        }
        let mut lent = vec![];
        for words in std::iter::once(1 + rows).chain(std::iter::repeat_n(words, rows)) {
            let Some((at, words)) = self.space.take(words) else {
                self.give_back(lent);
                self.full(name);
                return None;
            };
            lent.push(Stretch { at, words });
            // Zeros, also so that no worker is the first to touch a page.
            (at..at + words).for_each(|word| self.store(word, 0));
        }
        let (at, rows_at) = (lent[0].at, &lent[1..]);
        let blocks: Vec<Block<C>> = rows_at.iter().map(|row| Block::of(&self.memory, row.at + 8, cells)).collect();
        for (number, row) in rows_at.iter().enumerate() {
            // As in `add_vector`: the length stands in front of the cells, at the end of a line.
            self.store(row.at + 7, cells as u64);
            self.store(at + 1 + number, self.address(row.at + 8));
        }
        self.store(at, rows as u64);
        let lengths = rows_at.iter().map(|row| row.at + 7).collect();
        let value = Value::Counters { rows: C::rows(blocks.clone()), lengths, shown: cells, at, is_lent: true };
        match self.add(name, value) {
            Some(id) => Some((id, blocks, lent)),
            None => {
                self.give_back(lent);
                None
            }
        }
    }
    /// Takes lent words back.
    pub fn give_back(&mut self, lent: impl IntoIterator<Item = Stretch>) {
        lent.into_iter().for_each(|stretch| self.space.give_back(stretch.at, stretch.words));
    }
    /// Shows the first `len` cells of a vector's rows, or as many as they have room for; never less than before.
    pub fn show(&mut self, id: EntryId, len: usize) {
        let Some(place) = self.place(id) else { return };
        let Value::Counters { rows, lengths, shown, .. } = &mut self.entries[place].value else { return };
        let (room, cell) = match rows {
            Rows::Simple(blocks) => (blocks.iter().map(|block| block.len()).min(), 8),
            Rows::Combined(blocks) => (blocks.iter().map(|block| block.len()).min(), 16),
        };
        let new = len.min(room.unwrap_or(0));
        if new > *shown {
            for length in lengths.iter() {
                // A worker must not be the first to touch a page: the kernel would have to find one meanwhile.
                for byte in (*shown * cell..new * cell).step_by(PAGE).chain([new * cell - 8]) {
                    self.memory.words()[length + 1 + byte / 8].fetch_add(0, Relaxed);
                }
                self.memory.words()[*length].store(new as u64, Relaxed);
            }
            *shown = new;
        }
        if len > new && !self.told {
            let name = self.name(place);
            self.full(name.as_str());
        }
    }

    /// Adds a vector of texts.
    pub fn add_names(&mut self, name: &str) -> Option<EntryId> {
        let Some((at, words)) = self.space.take(1) else {
            self.full(name);
            return None;
        };
        (at..at + words).for_each(|word| self.store(word, 0));
        let vector = Stretch { at, words };
        self.add(name, Value::Names { vector, texts: vec![] })
    }
    /// Sets a text of a vector, or takes it away. The vector then has that place at least.
    pub fn set_name(&mut self, id: EntryId, index: usize, text: Option<&str>) {
        let Some(place) = self.place(id) else { return };
        let Value::Names { vector, texts } = &mut self.entries[place].value else { return };
        // Put back below.
        let (mut vector, mut texts) = (*vector, std::mem::take(texts));
        let len = texts.len().max(index + 1);
        if len >= vector.words {
            match self.enlarge(vector, 1 + len) {
                Some(larger) => vector = larger,
                None => self.full("a name"),
            }
        }
        if len < vector.words {
            texts.resize_with(len, || None);
            if let Some(old) = texts[index].take() {
                self.space.give_back(old.vector.at, old.vector.words);
            }
            texts[index] = text.and_then(|text| self.write_text(text));
            let pointer = texts[index].as_ref().map_or(0, |text| self.address(text.vector.data()));
            self.store(vector.data() + index, pointer);
            self.store(vector.at, len as u64);
        }
        self.entries[place].value = Value::Names { vector, texts };
        self.write(place);
    }
    /// A vector of a text's bytes and a NUL.
    fn write_text(&mut self, text: &str) -> Option<Text> {
        let text: String = text.chars().map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '_' }).collect();
        let Some((at, words)) = self.space.take(1 + (text.len() + 1).div_ceil(8)) else {
            self.full(&text);
            return None;
        };
        self.store(at, text.len() as u64 + 1);
        write_bytes(&self.memory.words()[at + 1..at + words], text.as_bytes());
        Some(Text { vector: Stretch { at, words }, text })
    }
}

/// Writes bytes into words; the rest of these is zero.
fn write_bytes(words: &[AtomicU64], bytes: &[u8]) {
    let (used, rest) = words.split_at(bytes.len().div_ceil(8).min(words.len()));
    used.iter().zip(bytes.chunks(8)).for_each(|(word, part)| word.store(word_of(part), Relaxed));
    rest.iter().for_each(|word| word.store(0, Relaxed));
}

/// Up to eight bytes as a word; the rest of it is zero.
fn word_of(part: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..part.len()].copy_from_slice(part);
    u64::from_le_bytes(eight)
}

/// A name as clients can read it, cut to the bytes that there are.
fn entry_name(name: &str) -> Cow<'_, str> {
    let ascii = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '_' };
    match name.len() < NAME_BYTES && is_readable(name.as_bytes()) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.chars().map(ascii).take(NAME_BYTES - 1).collect()),
    }
}

/// Whether bytes are ASCII without control characters. PERF: eight at a time.
fn is_readable(bytes: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    bytes.chunks(8).all(|part| {
        let mut eight = [b' '; 8];
        eight[..part.len()].copy_from_slice(part);
        let word = u64::from_le_bytes(eight);
        // A byte is not ASCII, or below a space, or above a tilde. One that borrows or carries is none of the readable ones itself.
        (word | word.wrapping_sub(u64::from(b' ') * EACH) | word.wrapping_add(EACH)) & HIGH == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_without_control_characters_is_readable() {
        for byte in 0..=u8::MAX {
            let is_fine = (b' '..=b'~').contains(&byte);
            for place in 0..17 {
                let mut bytes = *b"/interfaces/a~ z0";
                bytes[place] = byte;
                assert_eq!(is_readable(&bytes), is_fine, "{byte} at {place}");
            }
        }
        assert!(is_readable(b""));
    }
}

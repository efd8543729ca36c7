//! A client as VPP's are, in safe code: it reads the file through a descriptor rather than by a mapping, which comes to the
//! same, since both see the same pages.

use std::os::fd::OwnedFd;

use quiver_stats::Segment;

/// Value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryValue {
    Scalar(u64),
    Gauge(u64),
    Simple(Vec<Vec<u64>>),
    Combined(Vec<Vec<[u64; 2]>>),
    /// An empty text where there is none.
    Names(Vec<String>),
    Symlink(String, u32),
}

pub struct Client {
    file: OwnedFd,
    size: u64,
}

/// The directory changed meanwhile.
struct Torn;

impl Client {
    pub fn map(segment: &Segment) -> Client {
        let file = segment.file().expect("a file").try_clone_to_owned().expect("a descriptor");
        Client { size: rustix::fs::fstat(&file).expect("its size").st_size as u64, file }
    }
    fn bytes(&self, at: u64, len: usize) -> Result<Vec<u8>, Torn> {
        let mut bytes = vec![0; len];
        if at.checked_add(len as u64).is_none_or(|end| end >= self.size) {
            return Err(Torn);
        }
        match rustix::io::pread(&self.file, &mut bytes, at) {
            Ok(read) if read == len => Ok(bytes),
            other => panic!("{len} bytes at {at}: {other:?}"),
        }
    }
    pub fn word(&self, word: u64) -> u64 {
        let Ok(bytes) = self.bytes(word * 8, 8) else { panic!("there is no word {word}") };
        words(&bytes)[0]
    }
    pub fn version(&self) -> u64 {
        self.word(0)
    }
    pub fn epoch(&self) -> u64 {
        self.word(2)
    }
    /// All entries in their order. None if they changed meanwhile.
    pub fn read(&self) -> Option<Vec<(String, EntryValue)>> {
        let epoch = self.epoch();
        if self.word(3) != 0 {
            return None;
        }
        let entries = self.entries();
        let unchanged = self.word(3) == 0 && self.epoch() == epoch;
        match entries {
            Ok(entries) if unchanged => Some(entries),
            Err(Torn) if unchanged => panic!("a pointer leads out of the segment"),
            _ => None,
        }
    }
    /// The bytes of a vector whose elements have so many.
    fn vector(&self, pointer: u64, element: usize) -> Result<Vec<u8>, Torn> {
        let at = pointer.checked_sub(self.word(1)).filter(|at| *at >= 8).ok_or(Torn)?;
        let len = words(&self.bytes(at - 8, 8)?)[0] as u32 as usize;
        self.bytes(at, len * element)
    }
    fn entries(&self) -> Result<Vec<(String, EntryValue)>, Torn> {
        let directory = self.vector(self.word(4), 144)?;
        let name = |entry: &[u8]| {
            let name = entry[16..].split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        };
        let entry = |entry: &[u8]| {
            let head = words(&entry[..16]);
            let value = head[1];
            let seen = match head[0] as u32 {
                1 => EntryValue::Scalar(value),
                9 => EntryValue::Gauge(value),
                2 => {
                    let rows = words(&self.vector(value, 8)?);
                    let row = |row: &u64| Ok(words(&self.vector(*row, 8)?));
                    EntryValue::Simple(rows.iter().map(row).collect::<Result<_, Torn>>()?)
                }
                3 => {
                    let rows = words(&self.vector(value, 8)?);
                    let row = |row: &u64| Ok(pairs(&self.vector(*row, 16)?));
                    EntryValue::Combined(rows.iter().map(row).collect::<Result<_, Torn>>()?)
                }
                4 => {
                    let texts = words(&self.vector(value, 8)?);
                    let text = |text: &u64| match text {
                        0 => Ok(String::new()),
                        text => {
                            let mut bytes = self.vector(*text, 1)?;
                            if bytes.pop() != Some(0) {
                                return Err(Torn);
                            }
                            String::from_utf8(bytes).map_err(|_| Torn)
                        }
                    };
                    EntryValue::Names(texts.iter().map(text).collect::<Result<_, Torn>>()?)
                }
                6 => {
                    let to = directory.chunks(144).nth(value as u32 as usize).ok_or(Torn)?;
                    EntryValue::Symlink(name(to), (value >> 32) as u32)
                }
                _ => return Err(Torn),
            };
            Ok((name(entry), seen))
        };
        directory.chunks(144).map(entry).collect()
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(8).map(word).collect()
}

fn pairs(bytes: &[u8]) -> Vec<[u64; 2]> {
    words(bytes).chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

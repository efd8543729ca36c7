//! Where which word lies: version 2 of VPP's statistics segment, in words of eight bytes, little endian.
//!
//! Pointers are addresses of the daemon's mapping; a client takes [`BASE`] off, and finds its own. A vector is a pointer to
//! its first element; how many there are says the half word that begins a word earlier.

/// The version of all this.
pub const VERSION: u64 = 2;

/// Header: the version.
pub const VERSION_AT: usize = 0;
/// Header: the address of word 0.
pub const BASE: usize = 1;
/// Header: how often the directory has changed, from 1 on (GoVPP takes 0 for a failure).
pub const EPOCH: usize = 2;
/// Header: whether it is being changed.
pub const IN_PROGRESS: usize = 3;
/// Header: the vector of entries.
pub const DIRECTORY: usize = 4;
/// The first word behind the header. The one at 5 stays zero: GoVPP takes it for the error vector of older versions.
pub const HEADER_WORDS: usize = 8;

/// An entry: its type in the first word, its value in the second, then its name.
pub const ENTRY_WORDS: usize = 18;
/// An entry: its value.
pub const ENTRY_VALUE: usize = 1;
/// An entry: its name, which ends with a NUL.
pub const ENTRY_NAME: usize = 2;
/// Bytes of a name at most, its NUL included.
pub const NAME_BYTES: usize = 128;

/// Type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EntryType {
    /// A number.
    Scalar = 1,
    /// A vector of threads' vectors of counters.
    Simple = 2,
    /// A vector of threads' vectors of pairs.
    Combined = 3,
    /// A vector of texts, each a vector of bytes that ends with a NUL.
    Names = 4,
    /// One column of another entry: the entry's place in the directory, and the column, 32 bits each.
    Symlink = 6,
    /// A number that rises and falls.
    Gauge = 9,
}

/// The value of a symlink.
pub fn symlink(place: u32, column: u32) -> u64 {
    u64::from(place) | u64::from(column) << 32
}

/// A text as clients can read it: vpp_papi gives up on anything but ASCII, and slashes part names.
pub fn name_part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && !c.is_ascii_control() && c != '/' { c } else { '_' }).collect()
}

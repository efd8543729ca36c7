//! Encoding of message fields: integers in big endian, floating point numbers in the host's order (little endian),
//! texts, arrays and structs, one after the other without alignment.

use std::fmt;

use crate::definition::{Field, Shape, Type};

/// A type of fields of messages. `derive(Wire)` makes one of a struct, or of an enum with a `repr`.
pub trait Wire: Sized {
    /// Its description; of an array, that of its elements.
    fn of() -> Type;
    /// The description of a field of this type.
    fn field(name: &str) -> Field {
        Field { name: name.to_owned(), of: Self::of(), shape: Shape::One }
    }
    /// Writes it.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it.
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed>;
}

/// The rest of a message.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }
    /// The next `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(Malformed::short)?;
        self.0 = rest;
        Ok(bytes)
    }
    /// All bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or_else(Malformed::short)?;
        self.0 = rest;
        Ok(*bytes)
    }
}

/// Why bytes are no message: field and error text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", path(.field))]
pub struct Malformed {
    /// The field, such as `prefix.address.af`; empty where it is not known.
    pub field: String,
    /// Error text.
    pub what: String,
}

fn path(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

impl Malformed {
    fn short() -> Malformed {
        Malformed { field: String::new(), what: "the message ends in the middle of it".into() }
    }
    /// A number that means nothing.
    pub fn value(value: i64, of: &str) -> Malformed {
        Malformed { field: String::new(), what: format!("{value} is no {of}") }
    }
    /// The same, of a field of this name.
    pub fn of(mut self, name: &str) -> Malformed {
        self.field = if self.field.is_empty() { name.to_owned() } else { format!("{name}.{}", self.field) };
        self
    }
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        impl Wire for $name {
            fn of() -> Type {
                Type::base(stringify!($name))
            }
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_be_bytes());
            }
            fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
                input.array().map(Self::from_be_bytes)
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Wire for f64 {
    fn of() -> Type {
        Type::base("f64")
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn take(input: &mut Input<'_>) -> Result<f64, Malformed> {
        input.array().map(f64::from_le_bytes)
    }
}

impl Wire for bool {
    fn of() -> Type {
        Type::base("bool")
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
    fn take(input: &mut Input<'_>) -> Result<bool, Malformed> {
        Ok(u8::take(input)? != 0)
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn of() -> Type {
        T::of()
    }
    fn field(name: &str) -> Field {
        Field { name: name.to_owned(), of: T::of(), shape: Shape::Array(N) }
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|element| element.put(out));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let elements = (0..N).map(|_| T::take(input)).collect::<Result<Vec<T>, _>>()?;
        elements.try_into().map_err(|_| Malformed::short())
    }
}

/// A text in `N` bytes, the rest of them zero; a longer one is cut, so that one zero remains.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>(pub String);

impl<const N: usize> Text<N> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Text<N> {
        Text(text.to_owned())
    }
}
impl<const N: usize> From<String> for Text<N> {
    fn from(text: String) -> Text<N> {
        Text(text)
    }
}
impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<const N: usize> Wire for Text<N> {
    fn of() -> Type {
        Type::base("string")
    }
    fn field(name: &str) -> Field {
        Field { name: name.to_owned(), of: Self::of(), shape: Shape::Array(N) }
    }
    fn put(&self, out: &mut Vec<u8>) {
        let end = out.len() + N;
        // Cut between two letters.
        let fits = |(at, letter): (usize, char)| (at + letter.len_utf8() < N).then_some(at + letter.len_utf8());
        let length = self.0.char_indices().map_while(fits).last().unwrap_or(0);
        out.extend(&self.0.as_bytes()[..length]);
        out.resize(end, 0);
    }
    fn take(input: &mut Input<'_>) -> Result<Text<N>, Malformed> {
        let bytes = input.bytes(N)?;
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(N);
        Ok(Text(String::from_utf8_lossy(&bytes[..length]).into_owned()))
    }
}

/// A text of any length, the last field of its message: its length in 32 bits, and its bytes.
impl Wire for String {
    fn of() -> Type {
        Type::base("string")
    }
    fn field(name: &str) -> Field {
        Field { name: name.to_owned(), of: Self::of(), shape: Shape::Array(0) }
    }
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        out.extend(self.as_bytes());
    }
    fn take(input: &mut Input<'_>) -> Result<String, Malformed> {
        let length = u32::take(input)? as usize;
        Ok(String::from_utf8_lossy(input.bytes(length)?).trim_end_matches('\0').to_owned())
    }
}

/// A type that counts the elements of an array.
pub trait Count: Wire {
    /// As many as fit.
    fn of_length(length: usize) -> Self;
    /// Its value as a number of elements.
    fn length(self) -> usize;
}
macro_rules! counts {
    ($($name:ident)*) => {$(
        impl Count for $name {
            fn of_length(length: usize) -> Self {
                $name::try_from(length).unwrap_or($name::MAX)
            }
            fn length(self) -> usize {
                self as usize
            }
        }
    )*};
}
counts!(u8 u16 u32);

/// Makes a set of flags: `flags! { /// Doc. pub struct Name(u8) as "name" { A = 1 => "VPP_NAME_A", ... } }`. Bits without a name
/// are kept.
#[macro_export]
macro_rules! flags {
    ($(#[$doc:meta])* $vis:vis struct $name:ident($base:ident) as $wire:literal $kind:ident {
        $($(#[$flag_doc:meta])* $flag:ident = $value:literal => $text:literal),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name(pub $base);
        impl $name {
            $($(#[$flag_doc])* #[allow(dead_code, reason = "VPP's clients may send all of them")]
            pub const $flag: $name = $name($value);)*
            /// Whether it has all of these.
            pub fn has(self, flags: $name) -> bool {
                self.0 & flags.0 == flags.0
            }
        }
        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }
        impl $crate::wire::Wire for $name {
            fn of() -> $crate::definition::Type {
                let values = vec![$(($text, $value)),*];
                let kind = $crate::definition::Kind::$kind { base: stringify!($base), values };
                $crate::definition::Type::named($wire, kind)
            }
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(input: &mut $crate::wire::Input<'_>) -> Result<Self, $crate::wire::Malformed> {
                $crate::wire::Wire::take(input).map($name)
            }
        }
    };
}

/// Items that the derives use.
pub mod derived {
    pub use super::{Input, Malformed, Wire};
    pub use crate::definition::{Field, Kind, Type};

    use super::Count;
    use crate::definition::Shape;

    /// The fields of an array with the number of its elements before it.
    pub fn counted<V: Elements, C: Count>(name: &str, count: &str) -> Vec<Field> {
        vec![C::field(count), list::<V>(name, count)]
    }

    /// The field of an array whose elements are counted by a field before it.
    pub fn list<V: Elements>(name: &str, count: &str) -> Field {
        Field { name: name.to_owned(), of: V::Element::of(), shape: Shape::Counted(count.to_owned()) }
    }

    /// Writes the number of elements, as far as it can count.
    pub fn put_count<T: Wire, C: Count>(elements: &[T], out: &mut Vec<u8>) {
        C::of_length(elements.len()).put(out);
    }

    /// Writes as many elements as were counted.
    pub fn put_list<T: Wire, C: Count>(elements: &[T], out: &mut Vec<u8>) {
        let count = C::of_length(elements.len()).length();
        elements.iter().take(count).for_each(|element| element.put(out));
    }

    /// Reads the number of elements.
    pub fn take_count<C: Count>(input: &mut Input<'_>) -> Result<usize, Malformed> {
        Ok(C::take(input)?.length())
    }

    /// Reads so many elements.
    pub fn take_list<T: Wire>(input: &mut Input<'_>, count: usize) -> Result<Vec<T>, Malformed> {
        // Whatever the message says: no element takes no byte.
        let mut elements = Vec::with_capacity(count.min(input.0.len()));
        for index in 0..count {
            elements.push(T::take(input).map_err(|error| error.of(&format!("[{index}]")))?);
        }
        Ok(elements)
    }

    /// A list of elements.
    pub trait Elements {
        /// Their type.
        type Element: Wire;
    }
    impl<T: Wire> Elements for Vec<T> {
        type Element = T;
    }
}

#[cfg(test)]
mod tests;

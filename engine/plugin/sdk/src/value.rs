//! Values of fields, arguments and cells.
#![allow(unsafe_code)]

use crate::boundary;
use crate::refusal::Refusal;
use quiver_plugin_abi as abi;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An interface's number, as packets carry it. In a check it is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface(pub u32);

/// A type that a field or an argument can be read as.
pub trait FromValue: Sized {
    /// Reads it; None if it is something else.
    fn from_value(value: &abi::Value) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &abi::Value) -> Option<$type> {
                (value.shape == abi::VALUE_NUMBER).then(|| value.number.try_into().ok()).flatten()
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64);

impl FromValue for bool {
    fn from_value(value: &abi::Value) -> Option<bool> {
        (value.shape == abi::VALUE_BOOL).then_some(value.number != 0)
    }
}

/// The usual text of any value.
impl FromValue for String {
    fn from_value(value: &abi::Value) -> Option<String> {
        // SAFETY: the daemon's text, which is copied before the call that it is valid for returns.
        (value.shape != abi::VALUE_NONE).then(|| unsafe { boundary::text(value.text) }.to_owned())
    }
}

impl FromValue for Interface {
    fn from_value(value: &abi::Value) -> Option<Interface> {
        (value.shape == abi::VALUE_REFERENCE).then(|| value.number.try_into().ok()).flatten().map(Interface)
    }
}

fn octets<const N: usize>(value: &abi::Value) -> Option<[u8; N]> {
    (value.shape == abi::VALUE_ADDRESS && value.byte_count as usize == N).then(|| value.bytes.first_chunk().copied())?
}

impl FromValue for Ipv4Addr {
    fn from_value(value: &abi::Value) -> Option<Ipv4Addr> {
        octets::<4>(value).map(Ipv4Addr::from)
    }
}

impl FromValue for Ipv6Addr {
    fn from_value(value: &abi::Value) -> Option<Ipv6Addr> {
        octets::<16>(value).map(Ipv6Addr::from)
    }
}

/// A MAC address.
impl FromValue for [u8; 6] {
    fn from_value(value: &abi::Value) -> Option<[u8; 6]> {
        octets(value)
    }
}

/// A prefix, or an address with its prefix's length.
impl<A: FromValue> FromValue for (A, u8) {
    fn from_value(value: &abi::Value) -> Option<(A, u8)> {
        Some((A::from_value(value)?, value.number.try_into().ok()?))
    }
}

/// A value that may be left out.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &abi::Value) -> Option<Option<T>> {
        if value.shape == abi::VALUE_NONE { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// Values by name: an object's fields, a command's arguments.
pub struct Arguments<'a> {
    read: &'a dyn Fn(&str, u32) -> Option<abi::Value>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(read: &'a dyn Fn(&str, u32) -> Option<abi::Value>) -> Arguments<'a> {
        Arguments { read }
    }
    fn at<T: FromValue>(&self, name: &str, index: u32) -> Result<T, Refusal> {
        let value = (self.read)(name, index).ok_or_else(|| Refusal::new(format!("there is no '{name}'")))?;
        T::from_value(&value).ok_or_else(|| Refusal::new(format!("'{name}' is not of the type that the plugin reads")))
    }
    /// The value of a field or argument; take an `Option` of what may be left out.
    pub fn get<T: FromValue>(&self, name: &str) -> Result<T, Refusal> {
        self.at(name, 0)
    }
    /// All values of a list, or of an argument that may stand several times.
    pub fn all<T: FromValue>(&self, name: &str) -> Result<Vec<T>, Refusal> {
        let mut values = vec![];
        while let Some(value) = self.at::<Option<T>>(name, values.len() as u32)? {
            values.push(value);
        }
        Ok(values)
    }
}

/// A cell of a table, or the value of a field that is set.
#[derive(Clone, Debug)]
pub enum Cell {
    /// None.
    Nothing,
    /// A number.
    Number(u64),
    /// Yes or no.
    Truth(bool),
    /// A text; also an address, or the name of an object.
    Text(String),
    /// An interface, shown by its name.
    Interface(u32),
}

macro_rules! cells {
    ($($type:ty: $value:ident => $cell:expr;)*) => {$(
        impl From<$type> for Cell {
            fn from($value: $type) -> Cell {
                $cell
            }
        }
    )*};
}
cells! {
    u8: value => Cell::Number(value.into());
    u16: value => Cell::Number(value.into());
    u32: value => Cell::Number(value.into());
    u64: value => Cell::Number(value);
    bool: value => Cell::Truth(value);
    &str: value => Cell::Text(value.to_owned());
    String: value => Cell::Text(value);
    Interface: value => Cell::Interface(value.0);
}

impl Cell {
    /// As it crosses, for as long as `self` lives.
    pub(crate) fn crossing(&self) -> abi::Value {
        let (shape, number, text) = match self {
            Cell::Nothing => (abi::VALUE_NONE, 0, ""),
            Cell::Number(number) => (abi::VALUE_NUMBER, *number, ""),
            Cell::Truth(truth) => (abi::VALUE_BOOL, u64::from(*truth), ""),
            Cell::Text(text) => (abi::VALUE_TEXT, 0, text.as_str()),
            Cell::Interface(number) => (abi::VALUE_INTERFACE, u64::from(*number), ""),
        };
        abi::Value { shape, number, text: abi::Text::new(text), ..abi::Value::NONE }
    }
}

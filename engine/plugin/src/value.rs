//! Values on their way to a plugin and back.
#![allow(unsafe_code)]

use crate::foreign;
use crate::interfaces::InterfaceNames;
use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell};
use quiver_plugin_abi as abi;
use quiver_wire::{InterfaceAddress, MacAddress, Prefix, V4, V6};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::net::IpAddr;

/// Texts that a plugin may look at until a call returns.
#[derive(Default)]
pub(crate) struct Texts(RefCell<Vec<Box<str>>>);

impl Texts {
    fn keep(&self, text: String) -> abi::Text {
        let kept = text.into_boxed_str();
        let crossing = abi::Text::new(&kept);
        // The bytes stay where they are while the list grows.
        self.0.borrow_mut().push(kept);
        crossing
    }
}

/// A value as it crosses to a plugin.
pub(crate) fn to_plugin(control: Option<&Control>, kind: &ArgumentKind, value: &Value, texts: &Texts) -> abi::Value {
    let text = match value {
        Value::Null | Value::Array(_) | Value::Object(_) => return abi::Value::NONE,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut crossing = abi::Value { number: value.as_u64().unwrap_or(0), ..abi::Value::NONE };
    crossing.shape = match value {
        Value::Bool(truth) => {
            crossing.number = u64::from(*truth);
            abi::VALUE_BOOL
        }
        _ if kind.space().is_some() => {
            if kind.space() == Some(InterfaceNames::SPACE) {
                let number = |control: &Control| (control.room::<InterfaceNames>().number)(control, &text);
                crossing.number = control.and_then(number).unwrap_or(u32::MAX).into();
            }
            abi::VALUE_REFERENCE
        }
        Value::Number(_) => abi::VALUE_NUMBER,
        _ => match address(kind.name(), &text) {
            Some((bytes, length)) => {
                crossing.bytes[..bytes.len()].copy_from_slice(&bytes);
                (crossing.byte_count, crossing.number) = (bytes.len() as u32, length);
                abi::VALUE_ADDRESS
            }
            None => abi::VALUE_TEXT,
        },
    };
    crossing.text = texts.keep(text);
    crossing
}

/// The bytes of an address or prefix of this type, and the prefix's length.
fn address(kind: &str, text: &str) -> Option<(Vec<u8>, u64)> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let whole = |bytes: Vec<u8>| {
        let bits = bytes.len() as u64 * 8;
        (bytes, bits)
    };
    let prefix = |address: IpAddr, length: u8| (octets(address), u64::from(length));
    match kind {
        "ip4" | "ip6" | "ip" => text.parse().ok().map(octets).map(whole),
        "mac" => text.parse::<MacAddress>().ok().map(|mac| whole(mac.0.to_vec())),
        "ip4-prefix" => text.parse::<Prefix<V4>>().ok().map(|p| prefix(p.address().into(), p.length())),
        "ip6-prefix" => text.parse::<Prefix<V6>>().ok().map(|p| prefix(p.address().into(), p.length())),
        "ip4-address" => text.parse::<InterfaceAddress<V4>>().ok().map(|a| prefix(a.address().into(), a.length())),
        "ip6-address" => text.parse::<InterfaceAddress<V6>>().ok().map(|a| prefix(a.address().into(), a.length())),
        _ => None,
    }
}

/// A plugin's value as files have it.
///
/// # Safety
/// Its text can be read.
unsafe fn from_plugin(value: &abi::Value) -> Value {
    match value.shape {
        abi::VALUE_NONE => Value::Null,
        abi::VALUE_NUMBER => value.number.into(),
        abi::VALUE_BOOL => (value.number != 0).into(),
        // SAFETY: by the caller.
        _ => unsafe { foreign::text(value.text) }.into(),
    }
}

/// A plugin's value as a cell of a table.
///
/// # Safety
/// Its text can be read.
pub(crate) unsafe fn cell(control: Option<&Control>, value: &abi::Value) -> Cell {
    match (value.shape, control) {
        (abi::VALUE_NONE, _) => Cell::empty(),
        (abi::VALUE_NUMBER, _) => value.number.into(),
        (abi::VALUE_BOOL, _) => (value.number != 0).into(),
        (abi::VALUE_INTERFACE, Some(control)) => {
            let name = control.room::<InterfaceNames>().name;
            u32::try_from(value.number).map_or_else(|_| Cell::empty(), |number| name(control, number).into())
        }
        // SAFETY: by the caller.
        _ => unsafe { foreign::text(value.text) }.into(),
    }
}

/// The fields that a plugin sets.
///
/// # Safety
/// As [`foreign::slice`], and their texts can be read.
pub(crate) unsafe fn settings(settings: *const abi::Setting, count: u32) -> Map<String, Value> {
    // SAFETY: by the caller.
    let settings = unsafe { foreign::slice(settings, count as usize) };
    // SAFETY: by the caller.
    settings.iter().map(|one| unsafe { (foreign::text(one.name), from_plugin(&one.value)) }).collect()
}

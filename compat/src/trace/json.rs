//! Messages in words, as VPP has them in JSON: numbers, texts, addresses as people write them, names of choices and flags.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quiver_wire::MacAddress;
use serde_json::{Map, Value};

use super::requests::Requests;
use crate::api::Api;
use crate::definition::{Definition, Field, Kind, Shape, Type};
use crate::wire::{Input, Malformed, Wire};

/// A message in words: its name, its checksum, and its fields where they are known.
pub(super) fn show(api: &Api, message: &[u8]) -> Value {
    let input = &mut Input::new(message);
    let id = u16::take(input).unwrap_or_default();
    let mut shown = Map::new();
    shown.insert("_msgname".into(), api.name(id).unwrap_or("unknown").into());
    if let Some(definition) = api.definition(id) {
        shown.insert("_crc".into(), format!("{:08x}", definition.crc()).into());
        // A truncated message is shown up to its end.
        let _ = show_fields(&definition.fields, input, &mut shown);
    }
    shown.into()
}

fn show_fields(fields: &[Field], input: &mut Input<'_>, shown: &mut Map<String, Value>) -> Result<(), Malformed> {
    for Field { name, of, shape } in fields {
        let value = match shape {
            Shape::Array(length) if of.name == "string" => match length {
                0 => String::take(input)?.into(),
                length => {
                    let bytes = input.bytes(*length)?;
                    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into()
                }
            },
            Shape::One => show_one(of, input)?,
            Shape::Array(length) => show_many(of, *length, input)?,
            Shape::Counted(count) => {
                let count = shown.get(count).and_then(Value::as_u64).unwrap_or_default();
                show_many(of, count as usize, input)?
            }
        };
        shown.insert(name.clone(), value);
    }
    Ok(())
}

fn show_many(of: &Type, count: usize, input: &mut Input<'_>) -> Result<Value, Malformed> {
    (0..count).map(|_| show_one(of, input)).collect()
}

fn show_one(of: &Type, input: &mut Input<'_>) -> Result<Value, Malformed> {
    let base = match (of.name.as_str(), &of.kind) {
        ("mac_address", _) => return Ok(MacAddress::take(input)?.to_string().into()),
        ("ip4_address", _) => return Ok(Ipv4Addr::take(input)?.to_string().into()),
        ("ip6_address", _) => return Ok(Ipv6Addr::take(input)?.to_string().into()),
        ("address", _) => return Ok(crate::types::Address::take(input)?.get().to_string().into()),
        ("prefix" | "ip4_prefix" | "ip6_prefix", Kind::Struct(fields)) => {
            let mut shown = Map::new();
            show_fields(fields, input, &mut shown)?;
            let (address, length) = (&shown["address"], &shown["len"]);
            return Ok(format!("{}/{length}", address.as_str().unwrap_or_default()).into());
        }
        (_, Kind::Base) => of.name.as_str(),
        (_, Kind::Alias { of, length: 0 }) => return show_one(of, input),
        (_, Kind::Alias { of, length }) => return show_many(of, *length, input),
        (_, Kind::Struct(fields)) => {
            let mut shown = Map::new();
            show_fields(fields, input, &mut shown)?;
            return Ok(shown.into());
        }
        // Which of its fields is meant, another field says; all of its bytes are shown.
        (_, Kind::Union(_)) => return Ok(input.bytes(of.size())?.to_vec().into()),
        (_, Kind::Enum { base, values }) => {
            let number = show_base(base, input)?;
            let name = values.iter().find(|(_, value)| Some(*value) == number.as_i64());
            return Ok(name.map_or(number, |(name, _)| (*name).into()));
        }
        (_, Kind::Flags { base, values }) => {
            let number = show_base(base, input)?;
            let bits = number.as_i64().unwrap_or_default();
            let named = values.iter().filter(|(_, value)| *value != 0 && bits & value == *value);
            return Ok(named.map(|(name, _)| Value::from(*name)).collect());
        }
    };
    show_base(base, input)
}

fn show_base(base: &str, input: &mut Input<'_>) -> Result<Value, Malformed> {
    Ok(match base {
        "u8" => u8::take(input)?.into(),
        "i8" => i8::take(input)?.into(),
        "u16" => u16::take(input)?.into(),
        "i16" => i16::take(input)?.into(),
        "u32" => u32::take(input)?.into(),
        "i32" => i32::take(input)?.into(),
        "u64" => u64::take(input)?.into(),
        "i64" => i64::take(input)?.into(),
        "f64" => f64::take(input)?.into(),
        "bool" => bool::take(input)?.into(),
        "string" => String::take(input)?.into(),
        // Nothing is shown that takes no bytes: a count could ask for any number of them.
        _ => return Err(Malformed { field: String::new(), what: format!("{base} is no type of the language") }),
    })
}

/// A text of JSON that is being read: a list of requests. Fields that are left out are 0 or empty.
pub(super) struct Listed {
    content: Vec<u8>,
    /// Bytes that were read.
    at: usize,
    has_ended: bool,
}

impl Listed {
    pub fn new(content: Vec<u8>) -> Listed {
        Listed { content, at: 0, has_ended: false }
    }
    /// The next byte that is no blank.
    fn byte(&mut self) -> Option<u8> {
        let rest = &self.content[self.at..];
        self.at = self.content.len() - rest.trim_ascii_start().len();
        self.content.get(self.at).copied()
    }
    /// The next of the list.
    fn said(&mut self) -> Result<Option<Map<String, Value>>, String> {
        let is_first = self.at == 0;
        let end = match (self.byte(), is_first) {
            (Some(b'['), true) => {
                self.at += 1;
                self.byte() == Some(b']')
            }
            (Some(b','), false) => {
                self.at += 1;
                false
            }
            (Some(b']'), false) => true,
            (_, true) => return Err("a list of messages was expected".into()),
            (_, false) => return Err(format!("`,` or `]` was expected behind byte {}", self.at)),
        };
        if end {
            self.at += 1;
            self.has_ended = true;
            return match self.byte() {
                None => Ok(None),
                Some(_) => Err(format!("nothing was expected behind byte {}", self.at)),
            };
        }
        let mut values = serde_json::Deserializer::from_slice(&self.content[self.at..]).into_iter();
        let said = values.next().ok_or("it ends early")?;
        let said = said.map_err(|error| format!("behind byte {}: {error}", self.at))?;
        self.at += values.byte_offset();
        Ok(Some(said))
    }
}

impl Requests for Listed {
    fn next(&mut self, api: &Api) -> Option<Result<Option<Vec<u8>>, String>> {
        if self.has_ended {
            return None;
        }
        match self.said() {
            Ok(said) => said.map(|said| request(api, &said)),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The bytes of a request in words, if it is known here by name and checksum.
fn request(api: &Api, said: &Map<String, Value>) -> Result<Option<Vec<u8>>, String> {
    let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, crc) = (text("_msgname"), text("_crc").trim_start_matches("0x"));
    let known = api.id_of(name).and_then(|id| Some((id, api.definition(id)?)));
    let known = known.filter(|(_, definition)| crc.is_empty() || format!("{:08x}", definition.crc()) == crc);
    let Some((id, Definition { fields, .. })) = known else { return Ok(None) };
    let mut message = id.to_be_bytes().to_vec();
    put_fields(fields, said, &mut message).map_err(|what| format!("{name}: {what}"))?;
    Ok(Some(message))
}

fn put_fields(fields: &[Field], said: &Map<String, Value>, out: &mut Vec<u8>) -> Result<(), String> {
    for Field { name, of, shape } in fields {
        let value = said.get(name).unwrap_or(&Value::Null);
        let put = match shape {
            Shape::Array(length) if of.name == "string" => put_text(value, *length, out),
            Shape::One => put_one(of, value, out),
            Shape::Array(length) => put_many(of, value, *length, out),
            Shape::Counted(count) => {
                let length = value.as_array().map_or(0, Vec::len);
                let counted = said.get(count).and_then(Value::as_u64).unwrap_or_default();
                if counted != length as u64 {
                    return Err(format!("{name}: {count} says {counted}, and there are {length}"));
                }
                put_many(of, value, length, out)
            }
        };
        put.map_err(|what| format!("{name}: {what}"))?;
    }
    Ok(())
}

fn put_text(value: &Value, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default();
    match length {
        0 => text.to_owned().put(out),
        length if text.len() < length => {
            out.extend(text.as_bytes());
            out.resize(out.len() + length - text.len(), 0);
        }
        length => return Err(format!("{} bytes are too many; {} are the most", text.len(), length - 1)),
    }
    Ok(())
}

fn put_many(of: &Type, value: &Value, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let none = vec![];
    let values = value.as_array().unwrap_or(&none);
    if values.len() > length {
        return Err(format!("{} are too many; {length} are the most", values.len()));
    }
    (0..length).try_for_each(|at| put_one(of, values.get(at).unwrap_or(&Value::Null), out))
}

fn put_one(of: &Type, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let wrong = || format!("{value} is no {}", of.name);
    let text = value.as_str();
    match (of.name.as_str(), &of.kind, text) {
        ("mac_address", _, Some(text)) => text.parse::<MacAddress>().map_err(|_| wrong())?.put(out),
        ("ip4_address", _, Some(text)) => text.parse::<Ipv4Addr>().map_err(|_| wrong())?.put(out),
        ("ip6_address", _, Some(text)) => text.parse::<Ipv6Addr>().map_err(|_| wrong())?.put(out),
        ("address", _, Some(text)) => {
            crate::types::Address::from(text.parse::<IpAddr>().map_err(|_| wrong())?).put(out)
        }
        ("prefix" | "ip4_prefix" | "ip6_prefix", Kind::Struct(fields), Some(text)) => {
            let (address, length) = text.split_once('/').ok_or_else(wrong)?;
            let length = length.parse::<u8>().map_err(|_| wrong())?;
            let parts = [("address".to_owned(), address.into()), ("len".to_owned(), length.into())];
            return put_fields(fields, &parts.into_iter().collect(), out);
        }
        (base, Kind::Base, _) => return put_base(base, value, out).ok_or_else(wrong),
        (_, Kind::Alias { of, length: 0 }, _) => return put_one(of, value, out),
        (_, Kind::Alias { of, length }, _) => return put_many(of, value, *length, out),
        (_, Kind::Struct(fields), _) => {
            return put_fields(fields, value.as_object().unwrap_or(&Map::new()), out);
        }
        (_, Kind::Union(_), _) => return put_many(&Type::base("u8"), value, of.size(), out),
        (_, Kind::Enum { base, values }, Some(text)) => {
            let (_, value) = values.iter().find(|(name, _)| *name == text).ok_or_else(wrong)?;
            return put_base(base, &(*value).into(), out).ok_or_else(wrong);
        }
        (_, Kind::Flags { base, values }, _) if value.is_array() => {
            let names = value.as_array().into_iter().flatten();
            let bits =
                names.map(|name| values.iter().find(|(flag, _)| Some(*flag) == name.as_str()).map(|(_, bit)| *bit));
            let bits = bits.collect::<Option<Vec<_>>>().ok_or_else(wrong)?.into_iter().fold(0, |all, bit| all | bit);
            return put_base(base, &bits.into(), out).ok_or_else(wrong);
        }
        (_, Kind::Enum { base, .. } | Kind::Flags { base, .. }, _) => {
            return put_base(base, value, out).ok_or_else(wrong);
        }
    }
    Ok(())
}

/// Writes a number or truth of a type of the language; nothing is 0.
fn put_base(base: &str, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let value = if value.is_null() { &Value::from(0) } else { value };
    let signed = || value.as_i64();
    let unsigned = || value.as_u64();
    match base {
        "u8" => u8::try_from(unsigned()?).ok()?.put(out),
        "u16" => u16::try_from(unsigned()?).ok()?.put(out),
        "u32" => u32::try_from(unsigned()?).ok()?.put(out),
        "u64" => unsigned()?.put(out),
        "i8" => i8::try_from(signed()?).ok()?.put(out),
        "i16" => i16::try_from(signed()?).ok()?.put(out),
        "i32" => i32::try_from(signed()?).ok()?.put(out),
        "i64" => signed()?.put(out),
        "f64" => value.as_f64()?.put(out),
        "bool" => value.as_bool().or(unsigned().map(|number| number != 0))?.put(out),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the messages that a text lists, or returns its error.
    fn listed(text: &str) -> Result<usize, String> {
        let mut list = Listed::new(text.into());
        let mut count = 0;
        while list.said()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn lists_are_read_one_by_one_as_json_has_them() {
        for (text, count) in [("[]", 0), (" [ ]\n", 0), ("[{}]", 1), ("[ {\"a\": [1, \"]\"]} ,\n{} ] ", 2)] {
            assert_eq!(listed(text), Ok(count), "{text}");
            assert_eq!(serde_json::from_str::<Vec<Map<String, Value>>>(text).map(|all| all.len()).ok(), Some(count));
        }
        for text in ["", " ", "{}", "[", "[{}", "[{},]", "[{} {}]", "[,{}]", "[{}]]", "[{}],", "[1]", "[{]", "\0"] {
            assert!(listed(text).is_err(), "{text}");
            assert!(serde_json::from_str::<Vec<Map<String, Value>>>(text).is_err(), "{text}");
        }
    }
}

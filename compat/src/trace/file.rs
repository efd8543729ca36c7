//! Traces as VPP writes them: how many messages; the length of a table of names, and whether older messages are missing; the
//! table; each message with its length before it.

use std::collections::HashMap;

use super::requests::Requests;
use crate::api::Api;
use crate::wire::{Input, Malformed, Wire};

/// A file that is being written.
#[derive(Default)]
pub(super) struct Written {
    count: u32,
    messages: Vec<u8>,
}

impl Written {
    pub fn add(&mut self, message: &[u8]) {
        self.count += 1;
        (message.len() as u32).put(&mut self.messages);
        self.messages.extend(message);
    }
    /// All of it; `wrapped` says whether older messages are missing.
    pub fn content(self, api: &Api, wrapped: bool) -> Vec<u8> {
        let mut table = vec![];
        let names: Vec<(u16, &str)> = api.names_in_order().collect();
        (names.len() as u32).put(&mut table);
        for (id, name) in names {
            put_small(&mut table, id.into());
            put_small(&mut table, name.len() as u64);
            table.extend(name.as_bytes());
        }
        let mut out = vec![];
        self.count.put(&mut out);
        (table.len() as u32).put(&mut out);
        wrapped.put(&mut out);
        out.extend(table);
        out.extend(self.messages);
        out
    }
}

/// A file that is being read.
pub(super) struct Saved {
    content: Vec<u8>,
    /// Where the next message begins, and how many come.
    at: usize,
    left: u32,
    /// Names and checksums, by the numbers that they have in the file.
    names: HashMap<u64, String>,
}

impl Saved {
    pub fn new(content: Vec<u8>) -> Result<Saved, Malformed> {
        let input = &mut Input::new(&content);
        let (left, length, _wrapped) = (u32::take(input)?, u32::take(input)?, bool::take(input)?);
        let table = &mut Input::new(input.bytes(length as usize)?);
        let mut names = HashMap::new();
        for _ in 0..u32::take(table)? {
            let (id, length) = (take_small(table)?, take_small(table)?);
            let name = String::from_utf8_lossy(table.bytes(length as usize)?).into_owned();
            names.insert(id, name);
        }
        let at = content.len() - input.rest().len();
        Ok(Saved { content, at, left, names })
    }
    fn take(&mut self, api: &Api) -> Result<Option<Vec<u8>>, Malformed> {
        let input = &mut Input::new(&self.content[self.at..]);
        let length = u32::take(input)? as usize;
        let message = &mut Input::new(input.bytes(length)?);
        self.at += 4 + length;
        let theirs = u16::take(message)?;
        let ours = self.names.get(&u64::from(theirs)).and_then(|name| api.id_of_name_crc(name));
        Ok(ours.map(|id| [&id.to_be_bytes()[..], message.rest()].concat()))
    }
}

impl Requests for Saved {
    fn next(&mut self, api: &Api) -> Option<Result<Option<Vec<u8>>, String>> {
        self.left = self.left.checked_sub(1)?;
        Some(self.take(api).map_err(|error| error.to_string()))
    }
}

/// A number that is most likely small, as vppinfra's `serialize.h` has it: the low bits of the first byte say how many there are.
fn put_small(out: &mut Vec<u8>, number: u64) {
    const ONE: u64 = 1 << 7;
    const TWO: u64 = ONE + (1 << 14);
    match number {
        0..ONE => out.push((1 + 2 * number) as u8),
        ONE..TWO => out.extend((4 * (number - ONE) as u16 + 2).to_le_bytes()),
        _ => out.extend((8 * (number - TWO) as u32 + 4).to_le_bytes()),
    }
}

fn take_small(input: &mut Input<'_>) -> Result<u64, Malformed> {
    let first = u8::take(input)?;
    let rest = |input: &mut Input<'_>, count: usize| {
        let bytes = input.bytes(count)?;
        Ok(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) << 8 | u64::from(first))
    };
    match first.trailing_zeros() {
        0 => Ok(u64::from(first) / 2),
        1 => Ok((1 << 7) + rest(input, 1)? / 4),
        2 => Ok((1 << 7) + (1 << 14) + rest(input, 3)? / 8),
        _ => Err(Malformed::value(first.into(), "length of a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_few_bytes_and_are_read_as_they_were_written() {
        for (number, length) in [(0, 1), (127, 1), (128, 2), (16_511, 2), (16_512, 4), (70_000, 4)] {
            let mut out = vec![];
            put_small(&mut out, number);
            assert_eq!(out.len(), length, "{number}");
            assert_eq!(take_small(&mut Input::new(&out)), Ok(number));
        }
        assert!(take_small(&mut Input::new(&[0])).is_err());
    }
}

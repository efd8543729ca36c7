//! Rules: the treatment that a node gives to one packet, as plain code. Stages and nodes do the same in their ways.

use std::sync::Arc;

/// Bytes in front of a packet in the model's memory.
pub const ROOM: usize = 128;
/// Nodes let go of packets with fewer bytes by their last arc. No window reaches beyond so many.
pub const LEAST: u32 = 64;

/// A packet as plain code sees it.
#[derive(Clone)]
pub struct Model {
    /// Its bytes from `start` to `end`, behind [`ROOM`] for headers.
    pub memory: Vec<u8>,
    pub start: usize,
    pub end: usize,
    pub rx: u32,
    pub tx: u32,
    pub hop: u32,
}
impl Model {
    pub fn new(bytes: &[u8], rx: u32) -> Model {
        let memory = [&[0; ROOM], bytes].concat();
        Model { start: ROOM, end: memory.len(), memory, rx, tx: 0, hop: 0 }
    }
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }
}

/// Key of a rule.
#[derive(Clone, Copy)]
pub enum Key {
    /// The byte of the window at this place.
    Byte(usize),
    /// The result of a lookup.
    Hop,
    /// The receiving interface.
    Rx,
}

/// A value for each key.
pub type Table = Arc<[u32; 256]>;

/// A treatment. Tables are indexed by the key.
#[derive(Clone)]
pub struct Rule {
    /// Bytes before the current header at which the window begins.
    pub back: usize,
    pub key: Key,
    pub arcs: Table,
    /// The arc of packets that are too short, the last one.
    pub short: u16,
    /// Whether packets that leave by another arc than the first are changed, too.
    pub is_early: bool,
    /// Whether packets of 201 to 999 bytes lose their last byte.
    pub cuts: bool,
    pub tx: Option<Table>,
    /// Whether the receiving interface chooses the sending one, instead of the key.
    pub tx_by_rx: bool,
    pub hop: Option<Table>,
    pub rx: Option<Table>,
    /// Value added to the byte at a place of the window.
    pub add: Option<(usize, u8)>,
    /// Bytes written in front of the current header.
    pub front: Option<[u8; 4]>,
    /// Bytes, in two's complement.
    pub moves: Option<Table>,
    /// The arc of packets that the stage takes for ordinary.
    pub ordinary: u16,
}

/// The length that is left of a packet where a rule cuts.
pub fn cut(length: u32) -> u32 {
    length - u32::from(length > 200 && length < 1000)
}

impl Rule {
    pub fn key_of(&self, packet: &Model) -> usize {
        match self.key {
            Key::Byte(at) => packet.memory[packet.start - self.back + at].into(),
            Key::Hop => (packet.hop & 255) as usize,
            Key::Rx => packet.rx as usize & 255,
        }
    }
    pub fn arc(&self, key: usize) -> u16 {
        self.arcs[key] as u16
    }
    /// Treats a packet, and says by which arc it leaves.
    pub fn treat(&self, packet: &mut Model) -> u16 {
        let length = packet.bytes().len() as u32;
        if length < LEAST {
            return self.short;
        }
        let key = self.key_of(packet);
        let arc = self.arc(key);
        if arc != 0 && !self.is_early {
            return arc;
        }
        let window = packet.start - self.back;
        if self.cuts {
            packet.end = packet.start + cut(length) as usize;
        }
        if let Some(tx) = &self.tx {
            packet.tx = tx[if self.tx_by_rx { packet.rx as usize & 255 } else { key }];
        }
        if let Some(hop) = &self.hop {
            packet.hop = hop[key];
        }
        if let Some((at, value)) = self.add {
            let byte = &mut packet.memory[window + at];
            *byte = byte.wrapping_add(value);
        }
        if let Some(bytes) = self.front {
            packet.memory[packet.start - 4..packet.start].copy_from_slice(&bytes);
        }
        if let Some(moves) = &self.moves {
            packet.start = packet.start.wrapping_add_signed(moves[key] as i32 as isize);
        }
        if let Some(rx) = &self.rx {
            packet.rx = rx[key];
        }
        arc
    }
}

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

/// What a rule looks at.
#[derive(Clone, Copy)]
pub enum Key {
    /// The byte of the window at this place.
    Byte(usize),
    /// What a lookup chose.
    Hop,
    /// The receiving interface.
    Rx,
}

/// A treatment. Tables are indexed by the key.
#[derive(Clone)]
pub struct Rule {
    /// Bytes before the current header at which the window begins.
    pub back: usize,
    pub key: Key,
    pub arcs: [u16; 256],
    /// The arc of packets that are too short, the last one.
    pub short: u16,
    /// Whether packets that leave by another arc than the first are changed, too.
    pub is_early: bool,
    /// Whether packets of 201 to 999 bytes lose their last byte.
    pub cuts: bool,
    pub tx: Option<Arc<[u32; 256]>>,
    /// Whether the receiving interface chooses the sending one, instead of the key.
    pub tx_by_rx: bool,
    pub hop: Option<u32>,
    pub rx: Option<Arc<[u32; 256]>>,
    /// What is added to the byte at a place of the window.
    pub add: Option<(usize, u8)>,
    /// What is written into the four bytes in front of the current header.
    pub front: Option<[u8; 4]>,
    pub moves: Option<Arc<[i32; 256]>>,
    /// The arc of packets that the stage takes for ordinary.
    pub ordinary: u16,
}

/// Whether a packet of this length loses its last byte where a rule cuts.
pub fn is_cut(length: u32) -> bool {
    length > 200 && length < 1000
}
/// What a rule writes into the hop column.
pub fn hop(key: u32, salt: u32) -> u32 {
    (key.wrapping_mul(7) ^ salt) & 0xffff
}

impl Rule {
    pub fn key_of(&self, packet: &Model) -> usize {
        match self.key {
            Key::Byte(at) => packet.memory[packet.start - self.back + at].into(),
            Key::Hop => (packet.hop & 255) as usize,
            Key::Rx => packet.rx as usize & 255,
        }
    }
    /// Treats a packet, and says by which arc it leaves.
    pub fn treat(&self, packet: &mut Model) -> u16 {
        let length = packet.bytes().len() as u32;
        if length < LEAST {
            return self.short;
        }
        let key = self.key_of(packet);
        let arc = self.arcs[key];
        if arc != 0 && !self.is_early {
            return arc;
        }
        let window = packet.start - self.back;
        if self.cuts && is_cut(length) {
            packet.end -= 1;
        }
        if let Some(tx) = &self.tx {
            packet.tx = tx[if self.tx_by_rx { packet.rx as usize & 255 } else { key }];
        }
        if let Some(salt) = self.hop {
            packet.hop = hop(key as u32, salt);
        }
        if let Some((at, value)) = self.add {
            let byte = &mut packet.memory[window + at];
            *byte = byte.wrapping_add(value);
        }
        if let Some(bytes) = self.front {
            packet.memory[packet.start - 4..packet.start].copy_from_slice(&bytes);
        }
        if let Some(moves) = &self.moves {
            packet.start = packet.start.wrapping_add_signed(moves[key] as isize);
        }
        if let Some(rx) = &self.rx {
            packet.rx = rx[key];
        }
        arc
    }
}

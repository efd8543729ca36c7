//! Packets in whole lines, sent and taken by eights as far as that goes, as the driver does.

use quiver_memif_protocol::receiver::{Take, Whole};
use quiver_memif_protocol::region::{GROUP, LINE, Sources};
use quiver_memif_protocol::transmitter::{Burst, Group, Lines};

/// A packet's lines, with zeros behind its bytes, and how many bytes there are.
pub type Packet = (Vec<[u8; LINE]>, usize);

/// Packets to be sent.
pub struct Sending<'a> {
    pub packets: &'a [Packet],
    /// Eights that were taken.
    pub groups: &'a mut usize,
}
impl<'a> Burst for Sending<'a> {
    type Packet = Lines<'a>;
    type Group<'g>
        = Eight<'a>
    where
        Self: 'g;
    fn left(&self) -> usize {
        self.packets.len()
    }
    fn next(&mut self) -> Option<Lines<'a>> {
        let ((lines, length), rest) = self.packets.split_first()?;
        self.packets = rest;
        Some(Lines { lines, length: *length })
    }
    fn group(&self) -> Option<Eight<'a>> {
        // Those that no buffer has room for are no group.
        let packets: &[Packet; GROUP] = self.packets.first_chunk()?;
        Some(Eight { packets, lengths: packets.each_ref().map(|(_, length)| *length as u32) })
    }
    fn skip_group(&mut self) {
        self.packets = &self.packets[GROUP..];
        *self.groups += 1;
    }
}

/// Eight of them.
#[derive(Clone, Copy)]
pub struct Eight<'a> {
    packets: &'a [Packet; GROUP],
    lengths: [u32; GROUP],
}
impl Group for Eight<'_> {
    fn lengths(&self) -> &[u32; GROUP] {
        &self.lengths
    }
    fn each_first(&self, mut see: impl FnMut(usize, &[u8; LINE])) {
        self.packets.iter().enumerate().for_each(|(i, (lines, _))| see(i, &lines[0]));
    }
    fn line(&self, i: usize, line: usize) -> Option<&[u8; LINE]> {
        self.packets[i].0.get(line)
    }
}

/// Packets that were received.
#[derive(Default)]
pub struct Taking {
    pub packets: Vec<Packet>,
    /// Eights that came.
    pub groups: usize,
}
impl Take for &mut Taking {
    fn one(&mut self, packet: Whole<'_>) -> bool {
        let mut lines = vec![[0xff; LINE]; packet.length.div_ceil(LINE)];
        let came = packet.read_lines(&mut lines);
        self.packets.push((lines, packet.length));
        came
    }
    fn group(&mut self, lengths: &[u32; GROUP], most: usize, packets: Sources<'_>) -> bool {
        for (i, length) in lengths.iter().enumerate() {
            let mut lines = vec![[0xff; LINE]; (*length as usize).div_ceil(LINE)];
            assert!((1..=most).contains(&lines.len()));
            packets.read_first(i, &mut lines[0]);
            lines.iter_mut().enumerate().skip(1).for_each(|(line, to)| packets.read(i, line, to));
            self.packets.push((lines, *length as usize));
        }
        self.groups += 1;
        true
    }
}

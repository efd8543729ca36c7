//! A connected end: it moves packets, and sleeps.

use std::fmt::Display;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use quiver_memif_protocol::receiver::packets;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{Established, Handshake, Interrupt, Receiver, Transmitter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::pair::{Ended, Pair, SLAVE, wrong};
use crate::coroutine::Pause;

/// Bursts that an end sends at most when everything is to come to rest.
const LAST_BURSTS: u32 = 20;

/// An end that is connected.
pub(super) struct Traffic<'p> {
    pair: &'p Pair,
    end: usize,
    handshake: Handshake,
    rx: Receiver,
    tx: Transmitter,
    to_peer: Arc<OwnedFd>,
    to_us: Arc<OwnedFd>,
    /// Whether an interrupt for the peer was lost.
    owes: bool,
}

impl<'p> Traffic<'p> {
    pub fn new(
        pair: &'p Pair,
        end: usize,
        handshake: Handshake,
        established: &Established,
    ) -> Result<Traffic<'p>, Ended> {
        let Established { link, layout, .. } = established;
        let rings = (link.receivers(layout.as_ref()).pop(), link.transmitters(layout.as_ref()).pop());
        let (Some(mut rx), Some(tx)) = rings else { return Err(wrong("there is no ring each way")) };
        if end == SLAVE {
            rx.start();
        }
        let (to_peer, to_us) = (link.transmit[0].interrupt.clone(), link.receive[0].interrupt.clone());
        Ok(Traffic { pair, end, handshake, rx, tx, to_peer, to_us, owes: false })
    }
    /// Moves packets until an end is gone.
    pub fn run(mut self) -> Result<(), Ended> {
        let mut last = 0;
        loop {
            if let Err(error) = Pair::hear(&mut self.handshake) {
                return Err(self.pair.over(self.end, &error));
            }
            let resting = self.pair.resting.get();
            last += u32::from(resting);
            let may_send = last < LAST_BURSTS;
            if may_send && self.pair.world.draw(0..2) == 0 {
                self.send()?;
            }
            let looks = !self.pair.chance(self.pair.sloth[self.end]);
            let got = if looks { self.receive()? } else { 0 };
            if looks && got == 0 && (!may_send || !resting && self.pair.world.draw(0..3) == 0) {
                self.sleep()?;
            }
            self.pair.seam(self.end, Pause::Seam("between two rounds"))?;
        }
    }
    fn send(&mut self) -> Result<(), Ended> {
        let (pair, end) = (self.pair, self.end);
        self.tx.begin().map_err(broken)?;
        for _ in 0..pair.world.draw(1..12) {
            let number = pair.sent[end].get();
            let length = if number.is_multiple_of(7) { 600 } else { 60 + number as usize % 190 };
            match self.tx.send(length, [&packet(end, number, length)[..]].into_iter()).map_err(broken)? {
                Sent::Yes => pair.sent[end].set(number + 1),
                Sent::Full => {
                    pair.world.count(|report| report.full += 1);
                    break;
                }
                Sent::TooLong => return Err(wrong(format!("{length} bytes are too long for the ring"))),
            }
        }
        pair.seam(end, Pause::Seam("filled, not published"))?;
        let wanted = self.tx.publish();
        pair.seam(end, Pause::Seam("published, the peer not told"))?;
        if wanted && pair.chance(pair.loses) {
            pair.world.count(|report| report.lost += 1);
            self.owes = true;
        } else if wanted {
            Interrupt::notify(&*self.to_peer);
        }
        Ok(())
    }
    fn receive(&mut self) -> Result<usize, Ended> {
        let (pair, end) = (self.pair, self.end);
        let most = pair.world.draw(1..16) as usize;
        let burst = self.rx.receive(most).map_err(broken)?.to_vec();
        let mut got = 0;
        for fragments in packets(&burst) {
            let mut bytes = vec![];
            for fragment in fragments {
                let mut part = vec![0; fragment.place.length as usize];
                if !self.rx.read(fragment, &mut part) {
                    return Err(wrong("an honest descriptor is refused"));
                }
                bytes.extend(part);
            }
            let number = pair.received[end].get();
            if bytes != packet(1 - end, number, bytes.len()) {
                let found = bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
                return Err(wrong(format!("packet {number} is due, {found:?} came, of {} bytes", bytes.len())));
            }
            pair.received[end].set(number + 1);
            got += 1;
        }
        pair.world.count(|report| report.passed += got as u64);
        pair.seam(end, Pause::Seam("received, not released"))?;
        self.rx.release();
        Ok(got)
    }
    /// Sleeps until the peer tells of packets, or is gone.
    fn sleep(&mut self) -> Result<(), Ended> {
        self.rx.ring().set_interrupt(true);
        self.pair.seam(self.end, Pause::Seam("interrupts wanted, the ring not looked at"))?;
        if self.rx.waiting().map_err(broken)? == 0 {
            self.pair.world.count(|report| report.slept += 1);
            while !self.is_called() {
                if self.pair.resting.get() && std::mem::take(&mut self.owes) {
                    // Whoever has lost an interrupt tries again.
                    Interrupt::notify(&*self.to_peer);
                }
                self.pair.seam(self.end, Pause::Asleep)?;
            }
        }
        Interrupt::clear(&*self.to_us);
        self.rx.ring().set_interrupt(false);
        Ok(())
    }
    /// Whether the peer has interrupted us, or said something, or is gone.
    fn is_called(&self) -> bool {
        let (interrupt, channel) = (self.to_us.as_fd(), self.handshake.as_fd());
        let mut descriptors = [&interrupt, &channel].map(|fd| PollFd::new(fd, PollFlags::IN));
        poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

fn broken(broken: impl Display) -> Ended {
    wrong(format!("an honest peer is called broken: {broken}"))
}

/// Packet `number` of an end.
fn packet(end: usize, number: u64, length: usize) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend((8..length).map(|at| at as u8 ^ number as u8 ^ end as u8));
    bytes.truncate(length);
    bytes
}

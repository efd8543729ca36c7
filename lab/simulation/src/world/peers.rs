//! Peers behind the ports: their traffic, and its faults.

use std::sync::Arc;

use super::World;
use super::peer::Peer;
use crate::log::Event;
use crate::traffic::{self, PORTS};
use crate::wire::{Wire, lock};

impl World<'_> {
    pub(super) fn wire(&self, port: usize) -> Option<Arc<Wire>> {
        self.simulated.wires.borrow().get(&format!("p{port}")).cloned()
    }

    /// A peer sends some packets.
    pub(super) fn give(&mut self) {
        let port = self.random.usize(0..PORTS);
        let Some(wire) = self.wire(port) else { return };
        if self.random.u8(0..20) == 0 {
            self.offer(&wire, port, traffic::arp_request(port));
        }
        for _ in 0..self.random.usize(1..40) {
            let size =
                if self.random.u8(0..12) == 0 { self.random.usize(1900..7000) } else { self.random.usize(60..1500) };
            let number = self.fates.next();
            let (kind, bytes) = traffic::packet(&mut self.random, port, number, size);
            let queue = usize::from(bytes[35]) % wire.queues();
            if !wire.send(queue, bytes.clone()) {
                break;
            }
            self.fates.sent(kind, port, bytes, self.log.now());
            let told = self.peers[port].interrupts;
            if told {
                wire.interrupt(queue);
            }
            self.log.note(Event::Given { port, number, queue, told });
        }
    }

    fn offer(&mut self, wire: &Wire, port: usize, bytes: Vec<u8>) {
        if wire.send(0, bytes) && self.peers[port].interrupts {
            wire.interrupt(0);
        }
    }

    /// A peer takes packets off its ring, and answers who asks for it.
    pub(super) fn take(&mut self, port: usize) {
        let Some(wire) = self.wire(port) else { return };
        for _ in 0..self.peers[port].pace {
            let Some(packet) = wire.receive() else { break };
            if let Some(reply) = traffic::answer(port, &packet).filter(|_| self.peers[port].answers) {
                self.offer(&wire, port, reply);
            }
        }
    }

    /// Something goes wrong, or right again.
    pub(super) fn fault(&mut self) {
        if self.random.u32(0..100) > self.chances.faults {
            return self.heal();
        }
        let port = self.random.usize(0..PORTS);
        let what = match self.random.u8(0..5) {
            0 => {
                let room = self.random.usize(0..40);
                self.wire(port).into_iter().for_each(|wire| wire.set_room(room));
                format!("the ring of p{port}'s peer has {room} places")
            }
            1 => {
                self.peers[port].pace = self.random.usize(0..8);
                format!("the peer of p{port} takes {} packets at once", self.peers[port].pace)
            }
            2 => {
                self.peers[port].answers = false;
                format!("the peer of p{port} is silent")
            }
            3 => {
                self.peers[port].interrupts = false;
                format!("the interrupts of p{port}'s peer are lost")
            }
            _ => {
                let (worker, buffers) = (self.random.usize(0..self.simulated.members.len()), self.random.usize(1..600));
                let hoard = self.hoard.clone();
                self.simulated.members[worker].mailbox.post(move |worker| {
                    let packets: Vec<_> = (0..buffers).map_while(|_| worker.pool().packet(&[0; 64])).collect();
                    lock(&hoard).extend(packets);
                });
                format!("somebody keeps {buffers} buffers of worker {worker}")
            }
        };
        self.log.note(Event::Fault(what));
    }

    /// Nothing goes wrong any more.
    pub(super) fn heal(&mut self) {
        for port in 0..PORTS {
            self.peers[port] = Peer::well();
            if let Some(wire) = self.wire(port) {
                wire.set_room(256);
                // A peer whose interrupt was lost tries again.
                (0..wire.queues()).for_each(|queue| wire.interrupt(queue));
            }
        }
        let packets = std::mem::take(&mut *lock(&self.hoard));
        drop(packets);
        self.log.note(Event::Fault("all is well".into()));
    }
}

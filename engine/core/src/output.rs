//! The node `interface-output`, in front of the ports.

use crate::buffer::Flags;
use crate::column;
use crate::frame::Frame;
use crate::graph::{Context, Node};
use crate::tx::{Next, TxContext};

/// `interface-output`: hands packets to the port of their `tx` interface.
pub(crate) struct Output;

impl Node for Output {
    fn is_stage(&self) -> bool {
        true
    }
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // The usual case, but a trace wants to see each row.
        if !frame.any.has(Flags::TRACED) && (frame.one_tx || column::uniform(&frame.tx, frame.len())) {
            let tx = frame.tx[0];
            let port = match cx.output.via.get(tx as usize) {
                Some(Some(via)) if via.up => Some(via.port),
                Some(Some(_)) => None,
                _ => Some(tx),
            };
            if let Some(port) = port.filter(|port| cx.output.refusal(*port).is_none()) {
                if let Some(Some(via)) = cx.output.via.get(tx as usize) {
                    let bytes = column::sum(&frame.length, frame.len());
                    via.counters.add(tx, frame.len() as u64, bytes);
                }
                return cx.output.push_frame(&mut TxContext::new(cx.pool, cx.now), port, frame);
            }
        }
        let n = frame.len();
        column::fill(&mut frame.next, 0, n);
        (frame.left, frame.one_next) = (!0, false);
        for i in 0..frame.len() {
            let mut tx = frame.tx[i];
            if let Some(Some(via)) = cx.output.via.get(tx as usize) {
                if !via.up {
                    frame.next[i] = Next::Down.into();
                    continue;
                }
                via.counters.add(tx, 1, frame.length[i].into());
                tx = via.port;
            }
            match cx.output.refusal(tx) {
                None => {
                    let raw = frame.raw(i);
                    frame.buffer[i] = cx.pool.null;
                    frame.flags[i] &= Flags::TRACED.0;
                    frame.taken += 1;
                    cx.output.push(&mut TxContext::new(cx.pool, cx.now), tx, raw);
                }
                Some(arc) => frame.next[i] = arc.into(),
            }
        }
    }
}

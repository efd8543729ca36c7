//! `pg-input-output`: sends the packets of streams that are sent rather than received. They come from their stream's
//! queue, marked with the sending interface, and leave instead of being received. Features enabled in front of it on
//! the generator's interface see them as received: counters of groups, hand-over between workers, parts for stations.

use quiver_control::{Control, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{Context, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Phase, Seed, arcs};
use quiver_interface::{InterfaceId, Interfaces, LOCAL, decides};

use crate::stream::PgStream;

/// The node's name.
const NAME: &str = "pg-input-output";
/// Where it stands.
const DEVICE_INPUT: &str = "device-input";

arcs! {
    /// Where packets go from `pg-input-output`.
    enum Next {
        Pass => next_feature,
        Output => features "interface-output",
    }
}

/// The interface that sends a stream's packets, and the one that is taken to have received them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    by: InterfaceId,
    from: InterfaceId,
}

impl Output {
    /// The output of a stream, if its packets are sent.
    pub fn of(control: &Control, stream: &PgStream) -> Result<Option<Output>, ObjectError> {
        let Some(by) = &stream.output else { return Ok(None) };
        let interfaces = control.room::<Interfaces>();
        let from = stream.received_by.as_ref().unwrap_or(&stream.interface);
        Ok(Some(Output { by: interfaces.id_of(&by.0)?, from: interfaces.id_of(&from.0)? }))
    }
    /// Marks the packet that was added to a frame last. No other part of the graph sets its sending interface before.
    pub fn mark(self, frame: &mut Frame) {
        let Some(i) = frame.len().checked_sub(1) else { return };
        (frame.tx[i], frame.hop[i]) = (self.by.0, self.from.0);
    }
}

/// The node.
struct Outputs;

impl Node for Outputs {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.next[i] = match frame.tx[i] {
                tx if tx == LOCAL.0 => Next::Pass,
                _ => {
                    frame.rx[i] = std::mem::take(&mut frame.hop[i]);
                    Next::Output
                }
            }
            .into();
        }
    }
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new(NAME, Next::ARCS, |_: Seed| Outputs))?;
        graph.feature(FeatureSpec::new(DEVICE_INPUT, NAME, Phase::Device).before(&[crate::mac_filter::NAME]))?;
    }
    decides(control, NAME, decider);
    Ok(())
}

/// The stream whose packet is sent; the first one, where several send alike.
fn decider(control: &Control, record: &Record) -> Option<String> {
    let meant = Output { by: InterfaceId(record.tx), from: InterfaceId(record.rx) };
    let streams = control.objects().all::<PgStream>();
    let stream = streams.iter().find(|stream| Output::of(control, stream) == Ok(Some(meant)))?;
    Some(format!("pg-streams {}", stream.name))
}

/// Enables or disables the node on an interface that picks out packets to be sent.
pub(crate) fn look(control: &Control, id: InterfaceId, on: bool) -> Result<(), ObjectError> {
    let looks = control.room_mut::<Dataplane>().enable(DEVICE_INPUT, NAME, id.0, on);
    looks.map_err(|error| ObjectError::field("output", error.to_string()))
}

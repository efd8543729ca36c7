//! `sample-non-terminal`: a session is established by its first packet, and ends by a timeout of this service.

use quiver_control::Control;
use quiver_engine::{Context, Dataplane, DataplaneError, Frame, Node, NodeSpec, arcs};
use quiver_interface::{Undecided, undecided};
use quiver_session::node::pass::Reads;
use quiver_session::record::{State, Status};
use quiver_session::{Service, SessionError, by_tenant, register_service, register_timeout};

arcs! {
    /// Where packets go from here, besides services.
    pub enum Next {
        NoSession => drop "no-session",
    }
}

/// The node's name.
const NAME: &str = "sample-non-terminal";

/// The node.
struct Sample {
    reads: Reads,
    timeout: u8,
}

pub(crate) fn register(control: &Control) -> Result<(), SessionError> {
    let (reads, timeout) = (quiver_session::reads(control), register_timeout(control, "sample-timeout", 120)?);
    let spec = NodeSpec::new(NAME, Next::ARCS, move |_| Sample { reads: reads.clone(), timeout });
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    register_service(control, Service::new(NAME))?;
    by_tenant(control, NAME);
    undecided(control, NAME, Undecided::NodeBefore, &["no-session"]);
    Ok(())
}

impl Node for Sample {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        self.reads.each((cx, frame), (Next::ARCS.len(), Next::NoSession), |work, cx, frame, i, packet| {
            let status = packet.record.status();
            if status.state == State::Embryonic && !cx.is_rehearsal() {
                work.set_status(packet, Status { state: State::Established, timeout: self.timeout, ..status });
            }
            work.pass(cx, frame, i, packet);
        });
    }
}

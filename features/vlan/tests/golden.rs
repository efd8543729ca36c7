//! Golden scenarios of this room.

use std::process::ExitCode;

/// What stands where layer 3 would: frames that it would get are dropped with a reason that says so.
mod layer3 {
    use quiver_control::Control;
    use quiver_engine::{Context, Dataplane, Frame, GraphError, Node, NodeSpec, arcs};

    arcs! {
        /// The only way.
        enum Next {
            Delivered => drop "delivered-to-layer-3",
        }
    }
    struct End;
    impl Node for End {
        fn process(&mut self, _: &mut Context, _: &mut Frame) {}
    }
    pub fn register(control: &Control) -> Result<(), GraphError> {
        let mut dataplane = control.room_mut::<Dataplane>();
        dataplane.blueprint().node(NodeSpec::new("ip4-input", Next::ARCS, |_| End))?;
        dataplane.blueprint().node(NodeSpec::new("arp-input", Next::ARCS, |_| End))?;
        Ok(())
    }
}

fn main() -> ExitCode {
    let rooms =
        quiver_testkit::rooms![quiver_interface, quiver_ethernet, quiver_bridge, quiver_vlan, quiver_pg, layer3];
    quiver_testkit::golden::main(env!("CARGO_MANIFEST_DIR"), rooms)
}

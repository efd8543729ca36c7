//! `ip4-punt`, `ip6-punt`: the end of the feature arc of that name, where packets for us arrive that control is to have.
//! Features on the arc can limit what control gets, or lead it elsewhere.

use quiver_engine::{Context, Frame, Node, arcs};

arcs! {
    /// Where packets go from `ip4-punt`.
    pub enum Next {
        Control => punt "local",
    }
}

/// The node.
pub struct Punt;

impl Node for Punt {
    fn process(&mut self, _: &mut Context, _: &mut Frame) {}
}

//! An operator, and how often one asks.

use std::cell::RefCell;
use std::rc::Rc;

use fastrand::Rng;
use quiver_control::Task;
use quiver_control::protocol::Response;

/// Requests in a row at most, of operators that look on now and then.
const ROW_MAX: u32 = 12;
/// For how many steps they look on at most.
const CALM_MAX: u64 = 200;

/// How operators of every second seed ask: some requests in a row, and no more until workers have seen all that came of them, and a
/// while longer. While a configuration changes it can hardly be told where packets may go, so there is little to be found.
pub(super) struct Row {
    pub left: u32,
    pub from: u64,
}

impl Row {
    /// The next one, behind this step.
    pub fn draw(random: &mut Rng, step: u64) -> Row {
        Row { left: random.u32(1..=ROW_MAX), from: step + random.u64(0..CALM_MAX) }
    }
}

/// An operator whose request is not answered yet.
pub(super) struct Client {
    pub number: u64,
    pub task: Task,
    pub answer: Rc<RefCell<Option<Response>>>,
    /// Whether the daemon may undo a part of what was asked.
    pub applies: bool,
}

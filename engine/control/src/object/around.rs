//! Functions that are called before and after each step of a change.

use std::cell::RefCell;
use std::rc::Rc;

use crate::control::Control;

/// A moment of a step of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Its room is about to apply it.
    Before,
    /// Its room has applied it or refused it.
    After,
}

type Function = Rc<dyn Fn(&Control, Moment)>;

/// The functions that are called at these moments.
#[derive(Default)]
pub(super) struct Around(RefCell<Vec<Function>>);

impl Around {
    pub(super) fn add(&self, around: impl Fn(&Control, Moment) + 'static) {
        self.0.borrow_mut().push(Rc::new(around));
    }

    /// Calls all functions. One of them may add others.
    pub(super) fn call(&self, control: &Control, moment: Moment) {
        let all = self.0.borrow().clone();
        all.iter().for_each(|around| around(control, moment));
    }
}

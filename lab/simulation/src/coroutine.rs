//! A thread of the daemon as a coroutine. It runs up to the next seam, and goes on when the scheduler draws it.
//!
//! All coroutines of a simulation live on one OS thread with a stack each, so an interleaving follows from the seed
//! alone, and what a real thread would have half done when another came between is half done here, too.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use generator::{Generator, Gn};
use quiver_table::simulation::at_seams;

/// Words of a coroutine's stack; untouched pages cost nothing.
const STACK: usize = 256 * 1024;

/// Where a coroutine waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pause {
    /// Between two steps of the engine.
    Seam(&'static str),
    /// A worker has ended a turn with so much to do, or control a step.
    Done(usize),
    /// A worker sleeps.
    Asleep,
    /// It has ended.
    Ended,
}

thread_local! {
    /// Bodies on their way onto their stacks: a coroutine's own closure must be `Send`, which control's state is not.
    static BODY: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// The coroutine.
pub struct Coroutine {
    generator: Generator<'static, (), Pause>,
    /// Where it waits.
    pub at: Pause,
}

impl Coroutine {
    /// Begins `body` when it is resumed for the first time.
    pub fn new(body: impl FnOnce() + 'static) -> Coroutine {
        BODY.set(Some(Box::new(body)));
        let mut generator = Gn::<()>::new_opt(STACK, || {
            let body = BODY.take();
            pause(Pause::Done(0));
            if let Some(body) = body {
                body();
            }
            Pause::Ended
        });
        // It takes its body and waits.
        generator.resume();
        Coroutine { generator, at: Pause::Done(0) }
    }
    /// Lets it run up to its next pause. The error is what it panicked with.
    pub fn resume(&mut self) -> Result<Pause, String> {
        let resumed = catch_unwind(AssertUnwindSafe(|| self.generator.resume()));
        self.at = match resumed {
            Ok(pause) => pause.unwrap_or(Pause::Ended),
            Err(panic) => {
                self.at = Pause::Ended;
                return Err(format!("a panic: {}", message(&*panic)));
            }
        };
        Ok(self.at)
    }
    /// Whether there is nothing left of it.
    pub fn has_ended(&self) -> bool {
        self.at == Pause::Ended
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Waits, in a coroutine; elsewhere it is nothing.
pub fn pause(at: Pause) {
    if generator::is_generator() && !std::thread::panicking() {
        #[expect(deprecated, reason = "seams lie deep in the engine, where no coroutine's scope is at hand")]
        generator::yield_with(at);
    }
}

/// Sets whether coroutines of this OS thread wait at seams or pass them.
pub fn wait_at_seams(wait: bool) {
    at_seams(wait.then_some(|place| pause(Pause::Seam(place))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_table::simulation::seam;

    #[test]
    fn a_coroutine_stops_at_each_seam_and_tells_its_panic() {
        let mut coroutine = Coroutine::new(|| {
            seam("first");
            pause(Pause::Asleep);
            panic!("on purpose");
        });
        wait_at_seams(true);
        assert_eq!(coroutine.resume(), Ok(Pause::Seam("first")));
        assert_eq!(coroutine.resume(), Ok(Pause::Asleep));
        assert_eq!(coroutine.resume(), Err("a panic: on purpose".to_owned()));
        assert!(coroutine.has_ended());
        wait_at_seams(false);
    }
}

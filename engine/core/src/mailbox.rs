//! From control to a worker: work to be done between two turns. There is no barrier; a letter is read within one turn, or
//! after one nap, and a sleeping worker is woken for it.

use crate::letters::Letters;
use crate::worker::Worker;

pub use crate::worker::Letter;

/// A worker's letters.
pub type Mailbox = Letters<Letter>;

impl Mailbox {
    /// Posts a letter, and wakes the worker if it sleeps.
    pub fn post(&self, letter: impl FnOnce(&mut Worker) + Send + 'static) {
        self.put(Box::new(letter));
    }
}

/// Every interleaving of a worker and control: `cargo xtask memory loom`.
#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A worker that sleeps is woken if a letter lies there, or the thread is to end.
    fn has_not_overslept(mailbox: &Mailbox, sleeps: bool) {
        let work = !mailbox.is_empty() || mailbox.stopped();
        assert!(!(sleeps && work) || mailbox.sleeper.is_signalled(), "the worker sleeps beside its work");
    }

    #[test]
    fn a_letter_wakes_whoever_falls_asleep_meanwhile() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || ours.fall_asleep());
            mailbox.post(|_| {});
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }

    #[test]
    fn a_letter_that_comes_while_the_worker_wakes_is_not_forgotten() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || {
                if ours.fall_asleep() {
                    ours.awake();
                }
                while ours.take().is_some() {}
                ours.fall_asleep()
            });
            mailbox.post(|_| {});
            mailbox.post(|_| {});
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }

    #[test]
    fn a_sleeper_is_woken_to_end() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new().unwrap());
            let ours = mailbox.clone();
            let worker = thread::spawn(move || ours.fall_asleep());
            mailbox.stop();
            has_not_overslept(&mailbox, worker.join().unwrap());
        });
    }
}

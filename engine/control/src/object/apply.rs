//! Making changes: step by step, and back when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::{Instance, Moment, ObjectError, Objects, Step, Waiting};
use crate::control::Control;
use crate::pace::Pace;
use crate::transaction::Author;

impl Control {
    /// Makes planned changes; if one fails, or the result is refused, undoes those before it, last first. `progress`
    /// gets the number of finished steps, and of all.
    pub(crate) async fn run_steps(
        &self,
        steps: &[Step],
        pace: &mut Pace,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Vec<ObjectError>> {
        let mut done = 0;
        while done < steps.len() {
            pace.step().await;
            // Workers hear of the steps of a turn together.
            let made = Objects::together(self, || {
                loop {
                    progress(done, steps.len());
                    self.run_step(&steps[done]).map_err(|error| error.of(&steps[done].id()))?;
                    done += 1;
                    if done == steps.len() || !pace.goes_on() {
                        return Ok(());
                    }
                }
            });
            if let Err(error) = made {
                return Err(self.give_up(error, &steps[..done], pace).await);
            }
        }
        match self.check_end(pace).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.give_up(error, steps, pace).await),
        }
    }

    /// Takes changes back because of an error; all errors, that one first.
    async fn give_up(&self, error: ObjectError, done: &[Step], pace: &mut Pace) -> Vec<ObjectError> {
        let mut errors = vec![error];
        errors.extend(self.undo_steps(done, pace).await);
        // Restored objects were checked when they were created.
        for check in self.objects().end_checks() {
            while check(self).is_some() {
                pace.step().await;
            }
        }
        errors
    }

    /// Checks the result of all changes.
    async fn check_end(&self, pace: &mut Pace) -> Result<(), ObjectError> {
        for check in self.objects().end_checks() {
            while let Some(checked) = check(self) {
                pace.step().await;
                checked?;
            }
        }
        Ok(())
    }

    /// Takes changes back, last first. The errors of those that could not be taken back.
    pub(crate) async fn undo_steps(&self, done: &[Step], pace: &mut Pace) -> Vec<ObjectError> {
        let mut errors = Vec::new();
        // The previous objects may use files out of this author's reach.
        let control = self.by(Author::default());
        for step in done.iter().rev().map(Step::undo) {
            pace.step().await;
            if let Err(error) = control.run_step(&step) {
                let error = error.of(&step.id());
                // The configuration of the object is kept.
                if let (Some(object), None) = (&step.new, &step.old) {
                    let (kind, object, why) = (step.kind.clone(), object.object.clone(), error.clone());
                    self.objects().pending.add(Waiting { kind, object, why, is_lost: false });
                    self.try_again();
                }
                errors.push(ObjectError { what: format!("could not be undone: {}", error.what), ..error });
            }
        }
        errors
    }

    pub(super) fn run_step(&self, step: &Step) -> Result<(), ObjectError> {
        self.objects().fault(step)?;
        // A room that panics has refused its step: earlier changes are undone all the same.
        let object = |instance: &Option<Rc<Instance>>| instance.as_ref().map(|instance| instance.object.clone());
        let (old, new) = (object(&step.old), object(&step.new));
        let [before, after] = step.memory();
        self.objects().budget.change(step.kind.name(), before, after, || {
            self.objects().around.call(self, Moment::Before);
            let applied = catch_unwind(AssertUnwindSafe(|| step.kind.apply(self, old, new)));
            self.objects().around.call(self, Moment::After);
            applied.unwrap_or_else(|_| Err(ObjectError::inside()))
        })?;
        let mut names = self.objects().names.borrow_mut();
        if let Some(old) = &step.old {
            names.note(old, false);
        }
        if let Some(new) = &step.new {
            names.note(new, true);
        }
        drop(names);
        self.transactions().note_change();
        Ok(())
    }
}

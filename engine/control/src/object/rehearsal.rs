//! Rehearsal of changes on a stand-in, a second control side with the same rooms and no outside. A refusal by a room
//! there comes before any change of the running configuration.

use tracing::Dispatch;
use tracing::dispatcher::with_default;

use super::by_key::ByKey;
use super::registry::StandIn;
use super::{ObjectError, Step};
use crate::control::Control;
use crate::pace::{Pace, free};
use crate::transaction::Author;

/// After so many steps a stand-in is tidied.
const TIDY_EVERY: usize = 64;

/// A stand-in, and the changes made there.
struct Rehearsal {
    stand_in: StandIn,
    done: Vec<Step>,
}

impl Control {
    /// Whether nothing is configured.
    pub(crate) fn is_bare(&self) -> bool {
        self.objects().names.borrow().providers.is_empty()
    }

    /// Makes planned changes on a stand-in. This control side's rooms would refuse the same changes as its rooms.
    pub(crate) async fn rehearse(&self, steps: &[Step], pace: &mut Pace) -> Result<(), Vec<ObjectError>> {
        let Some(make) = self.objects().make_stand_in().filter(|_| !steps.is_empty()) else { return Ok(()) };
        let kept = self.objects().stand_in.take();
        let made = match kept {
            Some(stand_in) => Ok(stand_in),
            None => make(self.clone()).await,
        };
        let stand_in = match made {
            Ok(stand_in) => stand_in,
            Err(error) => {
                tracing::warn!("the change is not rehearsed, so its steps are undone if one is refused: {error}");
                return Ok(());
            }
        };
        let mut rehearsal = Rehearsal { stand_in, done: vec![] };
        let rehearsed = match rehearsal.begin(self, pace).await {
            Ok(()) => rehearsal.run(self.author(), steps, pace).await,
            // The configuration runs all the same: its parts came in another order, or with objects that are gone.
            Err(error) => {
                tracing::warn!(
                    "the change is not rehearsed, so its steps are undone if one is refused: what runs could not be \
                     applied anew: {error}"
                );
                Ok(())
            }
        };
        *self.objects().stand_in.borrow_mut() = rehearsal.end(pace).await;
        rehearsed.map_err(|error| vec![error])
    }
}

impl Rehearsal {
    /// Brings the stand-in to the running configuration.
    async fn begin(&mut self, running: &Control, pace: &mut Pace) -> Result<(), ObjectError> {
        let mut steps = vec![];
        for kind in running.objects().kinds() {
            for object in ByKey::running(&kind) {
                pace.step().await;
                steps.push(Step::new(kind.clone(), None, Some(object)));
            }
        }
        let order = running.ordered(steps, pace).await;
        let order = order.map_err(|_| ObjectError::whole("there is no order in which it could come into being"))?;
        let done = self.run(&Author::default(), &order, pace).await;
        free(order, pace).await;
        done
    }

    /// Makes steps on the stand-in, for this author. Those of kinds that it does not have, which are plugins', are left out.
    async fn run(&mut self, author: &Author, steps: &[Step], pace: &mut Pace) -> Result<(), ObjectError> {
        let control = self.stand_in.control.by(author.clone());
        for step in steps {
            self.pause(pace).await;
            let Some(kind) = control.objects().kind_named(step.kind.name()) else { continue };
            let step = Step { kind, ..step.clone() };
            quietly(|| control.run_step(&step)).map_err(|error| error.of(&step.id()))?;
            self.done.push(step);
        }
        for check in control.objects().end_checks() {
            while let Some(checked) = quietly(|| check(&control)) {
                self.pause(pace).await;
                checked?;
            }
        }
        Ok(())
    }

    /// Takes it all down again, in turns: very many objects that are dropped at once keep others waiting. The stand-in, unless
    /// something is left on it.
    async fn end(mut self, pace: &mut Pace) -> Option<StandIn> {
        let (control, mut is_bare) = (self.stand_in.control.clone(), true);
        while let Some(step) = self.done.pop() {
            self.pause(pace).await;
            is_bare &= quietly(|| control.run_step(&step.undo())).is_ok();
        }
        for check in control.objects().end_checks() {
            while quietly(|| check(&control)).is_some() {
                self.pause(pace).await;
            }
        }
        (self.stand_in.tidy)(&control);
        is_bare.then_some(self.stand_in)
    }

    async fn pause(&self, pace: &mut Pace) {
        pace.step().await;
        if self.done.len().is_multiple_of(TIDY_EVERY) {
            (self.stand_in.tidy)(&self.stand_in.control);
        }
    }
}

/// Discards log lines: rooms of a stand-in log events that did not happen.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    with_default(&Dispatch::none(), work)
}

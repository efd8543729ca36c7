//! Pending objects are tried again until they run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::TransactionError;
use crate::cli::{Cell, Output, Reply, Rows};
use crate::config::{Desired, Scope};
use crate::control::Control;
use crate::object::{HashSet, ObjectError, ObjectRef, Step, Waiting};
use crate::pace::Pace;
use crate::walk::one_by_one;

/// First and longest pause between tries; each try without a change doubles it.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// The same while an author holds the configuration.
const HELD: Duration = Duration::from_millis(100);

impl Control {
    /// The number of pending objects.
    pub fn pending(&self) -> usize {
        self.objects().pending.len()
    }

    /// Notes that an object runs without the outside that it had: it is made anew when that is there again.
    pub fn lost(&self, id: &ObjectRef, why: ObjectError) {
        let Some(kind) = self.objects().kind_named(id.space) else { return };
        let Some(object) = self.objects().running(id) else { return };
        let why = why.of(id);
        tracing::warn!("{why}; it is made anew when that is there again");
        self.objects().pending.add(Waiting { kind, object, why, is_lost: true });
        self.try_again();
    }

    /// Starts a task that retries waiting objects, and ends when none waits.
    pub(crate) fn try_again(&self) {
        let pending = &self.objects().pending;
        if pending.is_empty() || pending.is_tried.replace(true) {
            return;
        }
        let control = self.by(super::Author::default());
        self.spawn("pending configuration", async move {
            let mut pause = PAUSE;
            while !control.objects().pending.is_empty() {
                control.sleep(pause).await;
                pause = match control.try_waiting().await {
                    Ok(true) => PAUSE,
                    Ok(false) => (pause * 2).min(PAUSE_MAX),
                    Err(_) => HELD,
                };
            }
            control.objects().pending.is_tried.set(false);
        });
    }

    /// Applies the waiting objects whose requirements are met. Returns whether any came to run, or an error if the
    /// configuration is held.
    async fn try_waiting(&self) -> Result<bool, TransactionError> {
        let mut pace = Pace::in_turns(self);
        let waiting = self.objects().pending.all();
        let mut missing = BTreeMap::new();
        for one in &waiting {
            pace.step().await;
            if one.kind.is_outside()
                && let Err(error) = one.kind.needs(&*one.object)
            {
                missing.insert(one.object.id(), error);
            }
        }
        if waiting.iter().filter(|one| one.kind.is_outside()).all(|one| missing.contains_key(&one.object.id()))
            && !missing.is_empty()
        {
            return Ok(false);
        }
        let hold = self.hold("what was pending")?;
        let control = self.clone();
        let work = async move {
            let _hold = hold;
            let came = control.make_run(missing).await;
            control.forget_contents();
            came
        };
        Ok(self.to_the_end("pending", work).await.unwrap_or(false))
    }

    /// Applies the waiting objects, without missing ones.
    async fn make_run(&self, mut missing: BTreeMap<ObjectRef, ObjectError>) -> bool {
        let mut pace = Pace::in_turns(self);
        // It may have changed before the configuration was held.
        let waiting = self.objects().pending.all();
        let (lost, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|one| one.is_lost);
        let mut came = self.replace_lost(lost, &missing, &mut pace).await;
        let mut read = HashSet::default();
        loop {
            let mut desired = Desired::of(&waiting);
            let gone = self.dangling_of(&waiting);
            let still = desired.set_aside(&missing, gone, &mut pace).await;
            let steps = desired.steps(self, Scope::Part, &mut pace).await;
            let refused = self.run_planned(steps, &mut read, &mut pace).await.err();
            let Some(errors) = refused else {
                let waits: HashSet<ObjectRef> = still.iter().map(|one| one.object.id()).collect();
                for one in waiting.iter().filter(|one| !waits.contains(&one.object.id())) {
                    tracing::info!("{} runs: what it waited for is there", one.object.id());
                    came = true;
                }
                // Objects that began to wait meanwhile go on to wait.
                let tried: HashSet<ObjectRef> = waiting.iter().map(|one| one.object.id()).collect();
                let mut all = self.objects().pending.all();
                all.retain(|one| !tried.contains(&one.object.id()));
                all.extend(still);
                self.objects().pending.replace(all);
                return came;
            };
            match desired.refused_outside(&errors) {
                Some((id, error)) if !missing.contains_key(&id) => _ = missing.insert(id, error),
                _ => {
                    for error in errors {
                        tracing::warn!("what waits cannot run yet: {error}");
                    }
                    return came;
                }
            }
        }
    }

    /// Plans steps and makes them.
    async fn run_planned(
        &self,
        steps: Vec<Step>,
        read: &mut HashSet<ObjectRef>,
        pace: &mut Pace,
    ) -> Result<(), Vec<ObjectError>> {
        let steps = self.planned(steps, pace).await?;
        self.read_contents(&steps, read, pace).await?;
        match steps.is_empty() {
            true => Ok(()),
            false => self.run_steps(&steps, pace, &mut |_, _| {}).await,
        }
    }

    /// Recreates objects that run without their outside, where that is there again.
    async fn replace_lost(
        &self,
        lost: Vec<Waiting>,
        missing: &BTreeMap<ObjectRef, ObjectError>,
        pace: &mut Pace,
    ) -> bool {
        let mut came = false;
        for one in lost.into_iter().filter(|one| !missing.contains_key(&one.object.id())) {
            let id = one.object.id();
            self.objects().pending.remove(&id);
            // It may have been deleted, or changed and so made anew.
            let Some(running) = self.objects().running(&id).filter(|running| running.equals(&*one.object)) else {
                continue;
            };
            let step = Step::new(one.kind.clone(), Some(running.clone()), Some(running));
            let steps = self.planned_anew(vec![step], pace).await;
            let done = match steps {
                Ok(steps) => self.run_steps(&steps, pace, &mut |_, _| {}).await,
                Err(errors) => Err(errors),
            };
            match done {
                Ok(()) => {
                    tracing::info!("{id} was made anew: what it had lost is there again");
                    came = true;
                }
                Err(errors) => {
                    errors.iter().for_each(|error| tracing::warn!("{error}"));
                    // Unless it is gone, and waits for that reason.
                    if let Some(why) = errors.into_iter().next().filter(|_| self.objects().running(&id).is_some()) {
                        self.objects().pending.add(Waiting { why, ..one });
                    }
                }
            }
        }
        came
    }

    /// The names to which these refer and that no object has.
    fn dangling_of(&self, waiting: &[Waiting]) -> HashSet<ObjectRef> {
        let own: HashSet<ObjectRef> = waiting.iter().flat_map(|one| one.object.provides()).collect();
        let targets = waiting.iter().flat_map(|one| one.object.targets(&[]));
        targets.filter(|target| !own.contains(target) && !self.objects().exists(target)).collect()
    }
}

/// The pending objects, with the reasons.
pub(super) async fn show(control: &Control, output: &Output) -> Reply {
    let mut rows = Rows::new(control, output, ["Object", "Runs", "Why"]);
    let waiting = one_by_one(|last| {
        let one = control.objects().pending.behind(last)?;
        Some((one.object.id(), one))
    });
    let row = |one: Waiting| {
        let id = one.object.id();
        let runs = match (control.objects().running(&id), one.is_lost) {
            (None, _) => "no",
            (_, true) => "without its device",
            _ => "in part",
        };
        let why = ObjectError { object: String::new(), ..one.why };
        Some([Cell::from(id.to_string()), Cell::from(runs), Cell::from(why.to_string())])
    };
    rows.each(waiting, row).await;
    rows.end()
}

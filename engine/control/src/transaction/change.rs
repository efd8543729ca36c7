//! Planning, applying and saving of configurations: work under the hold, whose results are versions of the history.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::asker::{Asked, Asker};
use super::audit::Told;
use super::hold::Hold;
use super::state::Candidate;
use super::{Author, Text, TransactionError, Version};
use crate::cli::{Output, Reply};
use crate::config::{Desired, Scope, collect, describe, list_differences};
use crate::control::Control;
use crate::object::{HashSet, ObjectError, ObjectRef, Spread, Step, Waiting};
use crate::pace::{Pace, free};

/// Terms of a change of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Terms {
    /// Author's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Seconds within which it must be confirmed; without them it needs no confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_within: Option<u32>,
    /// Treatment of running objects that the file does not name.
    #[serde(default, skip_serializing_if = "Scope::is_whole")]
    pub scope: Scope,
    /// Whether a file without objects may remove all that runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_empty: bool,
}

impl Terms {
    /// A day: more would be forgotten.
    const SECONDS_MAX: u32 = 86_400;

    pub(super) fn check(&self) -> Result<(), TransactionError> {
        match self.confirm_within {
            Some(seconds @ (0 | Self::SECONDS_MAX..)) if seconds != Self::SECONDS_MAX => {
                Err(TransactionError::ConfirmTime(seconds))
            }
            _ => Ok(()),
        }
    }
}

/// A configuration that is to run.
pub(super) struct Goal {
    /// Name of the change in history and refusals: `apply site.yaml`.
    pub what: String,
    /// Where the text comes from, for its errors.
    pub file: String,
    pub text: Text,
    /// Whether missing resources outside may come later: for a configuration that is known to be valid.
    pub waits: bool,
}

impl Goal {
    fn file(file: &str, text: Text, scope: Scope) -> Goal {
        let option = if scope.is_whole() { "" } else { "--merge " };
        Goal { what: format!("apply {option}{file}"), file: file.to_owned(), text, waits: false }
    }
}

impl Control {
    /// Lists the changes that applying this file would make.
    pub async fn diff(&self, file: &str, text: &str, scope: Scope) -> Result<Reply, TransactionError> {
        let (_hold, steps) = self.compare(file, text, scope).await?;
        Ok(describe(&steps, &mut Pace::in_turns(self)).await)
    }

    /// The same, given out as it is made.
    pub(crate) async fn list_diff(
        &self,
        output: &Output,
        file: &str,
        text: &str,
        scope: Scope,
    ) -> Result<Reply, TransactionError> {
        let (_hold, steps) = self.compare(file, text, scope).await?;
        Ok(list_differences(self, output, steps.into_iter()).await)
    }

    /// The steps from the running configuration to that of a file, if it is valid.
    async fn compare(&self, file: &str, text: &str, scope: Scope) -> Result<(Hold, Vec<Step>), TransactionError> {
        let hold = self.hold(&format!("diff {file}"))?;
        let mut pace = Pace::in_turns(self);
        let desired = Desired::read_ready(self, file, text, &mut pace).await?;
        let steps = desired.steps(self, scope, &mut pace).await;
        let checked = self.check_steps(&steps, &mut pace).await.map_err(|errors| desired.place(errors));
        desired.free(&mut pace).await;
        checked?;
        Ok((hold, steps))
    }

    /// The steps that applying this file would take, in order, after every check that applying it makes. It is the candidate
    /// from now on.
    pub async fn plan(&self, file: &str, text: &str, scope: Scope) -> Result<Reply, TransactionError> {
        self.plan_text(file, text.to_owned().into(), scope).await
    }

    /// The same with a text that may be very long, and is not copied.
    pub(crate) async fn plan_text(&self, file: &str, text: Text, scope: Scope) -> Result<Reply, TransactionError> {
        let _hold = self.hold(&format!("plan {file}"))?;
        let mut pace = Pace::in_turns(self);
        let desired = Desired::read_ready(self, file, &text, &mut pace).await?;
        let steps = desired.steps(self, scope, &mut pace).await;
        let planned = self.planned(steps, &mut pace).await.map_err(|errors| desired.place(errors));
        let _contents = ForgetContents(self);
        let planned = match planned {
            Ok(steps) => match self.read_contents(&steps, &mut HashSet::default(), &mut pace).await {
                Ok(()) => self.rehearse(&steps, &mut pace).await.map(|()| steps),
                Err(errors) => Err(errors),
            }
            .map_err(|errors| desired.place(errors)),
            Err(errors) => Err(errors),
        };
        desired.free(&mut pace).await;
        let steps = planned?;
        let (author, after) = (self.author().clone(), self.transactions().changes.get());
        let candidate = Candidate { author, file: file.to_owned(), text, scope, after };
        *self.transactions().candidate.borrow_mut() = Some(candidate);
        Ok(numbered(steps, &mut pace).await)
    }

    /// Makes the running configuration that of the file. It is checked whole and changed in the order of its
    /// references, after all of it was rehearsed on a stand-in; when a step fails nevertheless, those before it are undone. It goes on to its end even if this future is dropped.
    pub async fn apply(&self, file: &str, text: &str, terms: Terms) -> Result<Reply, TransactionError> {
        self.apply_text(file, text.to_owned().into(), terms).await
    }

    /// The same with a text that may be very long, and is not copied.
    pub(crate) async fn apply_text(&self, file: &str, text: Text, terms: Terms) -> Result<Reply, TransactionError> {
        self.check_free()?;
        self.reach(Goal::file(file, text, terms.scope), terms).await
    }

    /// The same at the start of a daemon: objects with missing resources wait, and all others run.
    pub async fn start_with(&self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        // Nothing runs so far that an empty one could remove.
        let terms = Terms { allow_empty: true, ..Terms::default() };
        self.reach(Goal { waits: true, ..Goal::file(file, text.to_owned().into(), terms.scope) }, terms).await
    }

    /// Applies the candidate: this author's last plan, if the running configuration has not changed since.
    pub async fn apply_candidate(&self, terms: Terms) -> Result<Reply, TransactionError> {
        self.check_free()?;
        let candidate = self.transactions().candidate.borrow().clone();
        let Candidate { author, file, text, scope, after } = candidate.ok_or(TransactionError::NoCandidate)?;
        if author != *self.author() {
            return Err(TransactionError::OthersCandidate { by: author, file });
        }
        if after != self.transactions().changes.get() {
            return Err(TransactionError::StaleCandidate { file });
        }
        self.reach(Goal::file(&file, text, scope), Terms { scope, ..terms }).await
    }

    /// Makes the running configuration the saved one, and returns it as a file.
    pub async fn keep(&self, comment: Option<String>) -> Result<Reply, TransactionError> {
        self.keep_as(&Output::default(), comment).await
    }

    /// The same, for a reader that takes text or JSON.
    pub(crate) async fn keep_as(&self, output: &Output, comment: Option<String>) -> Result<Reply, TransactionError> {
        let wants_json = output.wants_json();
        let hold = self.hold_to_change("save")?;
        let control = self.clone();
        self.change_to_the_end(async move {
            let _hold = hold;
            let mut pace = Pace::in_turns(&control);
            let unsaved = control.transactions().unsaved_by();
            let what = match unsaved.as_str() {
                "" => "save".to_owned(),
                by if by == control.author().to_string() => "commands".to_owned(),
                by => format!("commands of {by}"),
            };
            let mut json = Map::new();
            let mut record = |kind: &'static str, record: &Value| collect(&mut json, kind, record);
            let running = control.written(&mut pace, wants_json.then_some(&mut record as _)).await;
            let terms = Terms { comment: comment.clone(), ..Terms::default() };
            let running = Text::from(running);
            let version = control.record(control.author(), what, terms, &running).await?;
            let version = version.map(|version| version.number);
            control.audit_whole(Told { what: "save", comment: comment.as_deref(), version }, &Value::Null);
            // The store has written it by now.
            Ok(Reply::new(running.into_string(), Value::Object(json)))
        })
        .await
    }

    /// Holds the configuration and makes it that of the goal.
    pub(super) async fn reach(&self, goal: Goal, terms: Terms) -> Result<Reply, TransactionError> {
        terms.check()?;
        let hold = self.hold(&goal.what)?;
        let (control, asker) = (self.clone(), Asker::default());
        let asked = asker.asked();
        let work = async move {
            let _contents = ForgetContents(&control);
            control.transact(hold, goal, terms, &asked).await
        };
        let done = self.change_to_the_end(work).await;
        drop(asker);
        done
    }

    async fn transact(&self, hold: Hold, goal: Goal, terms: Terms, asked: &Asked) -> Result<Reply, TransactionError> {
        let mut pace = Pace::in_turns(self);
        let mut desired = Desired::read(self, &goal.file, &goal.text, &mut pace).await?;
        let made = self.transact_desired(hold, goal, terms, &mut desired, asked, &mut pace).await;
        desired.free(&mut pace).await;
        made
    }

    async fn transact_desired(
        &self,
        hold: Hold,
        goal: Goal,
        terms: Terms,
        desired: &mut Desired,
        asked: &Asked,
        pace: &mut Pace,
    ) -> Result<Reply, TransactionError> {
        let mut missing = desired.missing(self, goal.waits, pace).await;
        let mut read = HashSet::default();
        let (steps, told, waiting) = loop {
            let waiting = desired.set_aside(&missing, Default::default(), pace).await;
            let steps = desired.steps(self, terms.scope, pace).await;
            if desired.is_empty() && !steps.is_empty() && !terms.allow_empty {
                return Err(TransactionError::Empty { file: goal.file, objects: steps.len() });
            }
            let told = describe(&steps, pace).await;
            let refused = match self.try_steps(steps, (&hold, asked), &mut read, pace).await {
                Ok(steps) => break (steps, told, waiting),
                Err(Tried::Refused(errors)) => errors,
                Err(Tried::Other(error)) => return Err(error),
            };
            // Objects that the outside refuses may wait, where that is allowed.
            match desired.refused_outside(&refused).filter(|(id, _)| !missing.contains_key(id)) {
                Some((id, error)) if goal.waits || desired.waits_already(self, &id) => _ = missing.insert(id, error),
                _ => return Err(desired.place(refused).into()),
            }
        };
        let before = self.objects().pending.all();
        self.note_waiting(desired, terms.scope, waiting);
        let running = Text::from(self.written(pace, None).await);
        let recorded = self.record(self.author(), goal.what.clone(), terms.clone(), &running).await;
        let version = match recorded {
            Ok(version) => version,
            Err(error) => {
                self.objects().pending.replace(before);
                for error in self.undo_steps(&steps, pace).await {
                    tracing::error!("{error}");
                }
                return Err(error);
            }
        };
        let number = version.as_ref().map(|version| version.number);
        let has_changed = !steps.is_empty();
        free(steps, pace).await;
        // Without steps there was no change.
        if has_changed || number.is_some() {
            let comment = terms.comment.as_deref();
            self.audit_whole(Told { what: &goal.what, comment, version: number }, &told.json);
        }
        let told = match self.pending() {
            0 => told,
            waiting => {
                let text =
                    format!("{}\n{waiting} wait to run: `quiver show configuration pending` says why", told.text);
                Reply::new(text.trim_start(), told.json)
            }
        };
        self.end_unconfirmed();
        let back_to = self.transactions().history.saved();
        if let (Some(version), Some(seconds), Some(back_to)) = (&version, terms.confirm_within, back_to) {
            self.await_confirmation(version, Duration::from_secs(seconds.into()));
            let text = format!(
                "{}\nthis is version {}: `quiver confirm` keeps it; otherwise version {} comes back in {seconds} s",
                told.text, version.number, back_to.number
            );
            let rest = json!({"version": version.number, "confirm-within": seconds});
            return Ok(Reply::new(text.trim_start(), with_changes(told.json, rest)));
        }
        Ok(Reply::new(told.text, with_changes(told.json, json!({"version": number}))))
    }

    /// Plans, rehearses and makes changes; the steps that it took. Contents of the objects in `read` were read before.
    async fn try_steps(
        &self,
        steps: Vec<Step>,
        (hold, asked): (&Hold, &Asked),
        read: &mut HashSet<ObjectRef>,
        pace: &mut Pace,
    ) -> Result<Vec<Step>, Tried> {
        let steps = self.planned(steps, pace).await.map_err(Tried::Refused)?;
        // Nothing has changed so far: if nobody waits for the result any more, the files are not waited for, either.
        match select(pin!(self.read_contents(&steps, read, pace)), pin!(asked.left())).await {
            Either::Left((contents, _)) => contents.map_err(Tried::Refused)?,
            Either::Right(_) => return Err(Tried::Other(TransactionError::Abandoned)),
        }
        // Where nothing runs, and where there is one step only, a refusal changes nothing.
        if steps.len() > 1 && !self.is_bare() {
            self.rehearse(&steps, pace).await.map_err(Tried::Refused)?;
        }
        self.record_unsaved(pace).await.map_err(Tried::Other)?;
        let done = self.run_steps(&steps, pace, &mut |done, all| hold.progress(done, all)).await;
        done.map_err(Tried::Refused)?;
        Ok(steps)
    }

    /// Notes the waiting objects of an applied configuration.
    fn note_waiting(&self, desired: &Desired, scope: Scope, waiting: Vec<Waiting>) {
        let pending = &self.objects().pending;
        let mut all = pending.all();
        // Objects outside of a part go on to wait, and so do objects that run without their outside, if they are
        // unchanged.
        let ids = if scope.is_whole() || all.is_empty() { Default::default() } else { desired.ids() };
        all.retain(|one| match one.is_lost {
            true => one.kind.find(&*one.object).is_some_and(|running| running.equals(&*one.object)),
            false => !scope.is_whole() && !ids.contains(&one.object.id()),
        });
        for one in &waiting {
            if !pending.has(&*one.object) {
                tracing::warn!("{}; it waits until that is there", one.why);
            }
        }
        all.extend(waiting);
        pending.replace(all);
        self.try_again();
    }

    /// Makes a version of the changes by commands since the newest one, so that they are not lost when they are
    /// replaced.
    async fn record_unsaved(&self, pace: &mut Pace) -> Result<(), TransactionError> {
        let (unsaved, transactions) = (self.transactions().unsaved_by(), self.transactions());
        let (author, what) = match unsaved.as_str() {
            "" if transactions.history.saved().is_some() => return Ok(()),
            "" => (Author::default(), "start"),
            by => (Author::new(by), "commands"),
        };
        let running = Text::from(self.written(pace, None).await);
        self.record(&author, what.to_owned(), Terms::default(), &running).await.map(|_| ())
    }

    /// Makes the running configuration the newest version, unless it is that already.
    async fn record(
        &self,
        author: &Author,
        what: String,
        terms: Terms,
        text: &Text,
    ) -> Result<Option<Version>, TransactionError> {
        let history = &self.transactions().history;
        if let Some(newest) = history.versions().first().filter(|newest| newest.confirmed)
            && history.is_text(self, newest.number, text).await
        {
            self.transactions().note_saved();
            return Ok(None);
        }
        let (time, author) = (self.date(), author.to_string());
        let (comment, confirmed) = (terms.comment, terms.confirm_within.is_none());
        let version = Version { number: 0, time, author, what, comment, confirmed };
        let version = history.record(version, text.clone()).await?;
        self.transactions().note_saved();
        Ok(Some(version))
    }

    /// Runs a change to its end, even if the caller drops this future.
    pub(super) async fn change_to_the_end<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, TransactionError>> + 'static,
    ) -> Result<T, TransactionError> {
        self.to_the_end("transaction", work).await.unwrap_or(Err(TransactionError::Failed))
    }
}

/// Drops what was read for objects that do not run, whatever becomes of a change.
struct ForgetContents<'c>(&'c Control);

impl Drop for ForgetContents<'_> {
    fn drop(&mut self) {
        self.0.forget_contents();
    }
}

/// Why steps were not made.
enum Tried {
    /// They were refused.
    Refused(Vec<ObjectError>),
    /// Something else.
    Other(TransactionError),
}

/// The changes, which may be very many and are moved, with more fields.
fn with_changes(changes: Value, mut rest: Value) -> Value {
    if let Value::Object(rest) = &mut rest {
        rest.insert("changes".to_owned(), changes);
    }
    rest
}

/// Steps in their order; recreated objects are marked.
async fn numbered(steps: Vec<Step>, pace: &mut Pace) -> Reply {
    // By name, whether an object goes, and whether one comes.
    let mut ends: Spread<ObjectRef, [bool; 2]> = Spread::default();
    for step in &steps {
        pace.step().await;
        let [goes, comes] = ends.get(&step.id()).copied().unwrap_or_default();
        ends.insert(step.id(), [goes || step.new.is_none(), comes || step.old.is_none()]);
    }
    let width = steps.len().to_string().len();
    let (mut text, mut list) = (String::new(), Vec::new());
    for (index, step) in steps.iter().enumerate() {
        pace.step().await;
        let (sign, change) = match (&step.old, &step.new) {
            (None, _) => ('+', "create"),
            (_, None) => ('-', "delete"),
            _ => ('~', "update"),
        };
        let (number, id) = (index + 1, step.id());
        let replaced = ends.get(&id) == Some(&[true, true]);
        let note = if replaced { "  (replaced: down and up again)" } else { "" };
        text.push_str(&format!("{number:width$}  {sign} {id}{note}\n"));
        list.push(json!({"step": number, "change": change, "object": id.to_string(), "replaced": replaced}));
    }
    if steps.is_empty() {
        text.push_str("this is what runs already\n");
    }
    free(ends.into_entries(), pace).await;
    free(steps, pace).await;
    Reply::new(text, Value::Array(list))
}

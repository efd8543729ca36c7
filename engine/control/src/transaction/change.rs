//! Planning, applying, saving: what holds the configuration, and what becomes a version of the history.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::hold::Hold;
use super::{Author, Candidate, TransactionError, Version};
use crate::cli::Reply;
use crate::config::{Desired, describe};
use crate::control::Control;
use crate::object::Step;
use crate::pace::Pace;

/// On what terms a configuration is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Terms {
    /// What the author says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Seconds within which it must be confirmed; without them it needs no confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_within: Option<u32>,
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
    /// What is done, for history and refusals: `apply site.yaml`.
    pub what: String,
    /// Where the text comes from, for its errors.
    pub file: String,
    pub text: Rc<str>,
}

impl Control {
    /// What applying this file would change.
    pub async fn diff(&self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        let _hold = self.hold(&format!("diff {file}"))?;
        let mut pace = Pace::in_turns(self);
        let desired = Desired::read(self, file, text, &mut pace).await?;
        let steps = desired.steps(self, &mut pace).await;
        self.check_steps(&steps, &mut pace).await.map_err(|errors| desired.place(errors))?;
        Ok(describe(&steps, &mut pace).await)
    }

    /// The steps that applying this file would take, in order. It is the candidate from now on.
    pub async fn plan(&self, file: &str, text: &str) -> Result<Reply, TransactionError> {
        let _hold = self.hold(&format!("plan {file}"))?;
        let mut pace = Pace::in_turns(self);
        let desired = Desired::read(self, file, text, &mut pace).await?;
        let steps = desired.steps(self, &mut pace).await;
        let steps = self.planned(steps, &mut pace).await.map_err(|errors| desired.place(errors))?;
        let (author, after) = (self.author().clone(), self.transactions().changes.get());
        let candidate = Candidate { author, file: file.to_owned(), text: text.into(), after };
        *self.transactions().candidate.borrow_mut() = Some(candidate);
        Ok(numbered(&steps))
    }

    /// Makes the running configuration that of the file. It is checked whole and changed in the order of its
    /// references; when a step fails, those before it are undone. It goes on to its end even if this future is dropped.
    pub async fn apply(&self, file: &str, text: &str, terms: Terms) -> Result<Reply, TransactionError> {
        let goal = Goal { what: format!("apply {file}"), file: file.to_owned(), text: text.into() };
        self.check_free()?;
        self.reach(goal, terms).await
    }

    /// Applies the candidate: what this author has planned last, if what runs is still what it was planned for.
    pub async fn apply_candidate(&self, terms: Terms) -> Result<Reply, TransactionError> {
        self.check_free()?;
        let candidate = self.transactions().candidate.borrow().clone();
        let Candidate { author, file, text, after } = candidate.ok_or(TransactionError::NoCandidate)?;
        if author != *self.author() {
            return Err(TransactionError::OthersCandidate { by: author, file });
        }
        if after != self.transactions().changes.get() {
            return Err(TransactionError::StaleCandidate { file });
        }
        self.reach(Goal { what: format!("apply {file}"), file, text }, terms).await
    }

    /// Makes what runs the saved configuration, and returns it as a file.
    pub async fn keep(&self, comment: Option<String>) -> Result<Reply, TransactionError> {
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
            let running = control.written(&mut pace).await;
            control.record(control.author(), what, Terms { comment, confirm_within: None }, &running).await?;
            Ok(running)
        })
        .await
    }

    /// Holds the configuration and makes it that of the goal.
    pub(super) async fn reach(&self, goal: Goal, terms: Terms) -> Result<Reply, TransactionError> {
        terms.check()?;
        let hold = self.hold(&goal.what)?;
        let control = self.clone();
        self.change_to_the_end(async move { control.transact(hold, goal, terms).await }).await
    }

    async fn transact(&self, hold: Hold, goal: Goal, terms: Terms) -> Result<Reply, TransactionError> {
        let mut pace = Pace::in_turns(self);
        let desired = Desired::read(self, &goal.file, &goal.text, &mut pace).await?;
        let steps = desired.steps(self, &mut pace).await;
        let told = describe(&steps, &mut pace).await;
        let steps = self.planned(steps, &mut pace).await.map_err(|errors| desired.place(errors))?;
        self.record_unsaved(&mut pace).await?;
        let done = self.run_steps(&steps, &mut pace, &mut |done, all| hold.progress(done, all)).await;
        done.map_err(|errors| desired.place(errors))?;
        let running = self.written(&mut pace).await;
        let recorded = self.record(self.author(), goal.what, terms.clone(), &running).await;
        let version = match recorded {
            Ok(version) => version,
            Err(error) => {
                for error in self.undo_steps(&steps, &mut pace).await {
                    tracing::error!("{error}");
                }
                return Err(error);
            }
        };
        self.end_unconfirmed();
        let back_to = self.transactions().history.saved();
        if let (Some(version), Some(seconds), Some(back_to)) = (&version, terms.confirm_within, back_to) {
            self.await_confirmation(version, Duration::from_secs(seconds.into()));
            let text = format!(
                "{}\nthis is version {}: `quiver confirm` keeps it; if nobody does so in {seconds} s, version {} comes \
                back",
                told.text, version.number, back_to.number
            );
            let json = json!({"changes": told.json, "version": version.number, "confirm-within": seconds});
            return Ok(Reply::new(text.trim_start(), json));
        }
        let json = json!({"changes": told.json, "version": version.map(|version| version.number)});
        Ok(Reply::new(told.text, json))
    }

    /// Makes a version of what commands have changed since the newest one, so that it is not lost with what replaces
    /// it.
    async fn record_unsaved(&self, pace: &mut Pace) -> Result<(), TransactionError> {
        let (unsaved, transactions) = (self.transactions().unsaved_by(), self.transactions());
        let (author, what) = match unsaved.as_str() {
            "" if transactions.history.saved().is_some() => return Ok(()),
            "" => (Author::default(), "start"),
            by => (Author::new(by), "commands"),
        };
        let running = self.written(pace).await;
        self.record(&author, what.to_owned(), Terms::default(), &running).await.map(|_| ())
    }

    /// Makes what runs the newest version, unless it is the newest already.
    async fn record(
        &self,
        author: &Author,
        what: String,
        terms: Terms,
        running: &Reply,
    ) -> Result<Option<Version>, TransactionError> {
        let (history, text) = (&self.transactions().history, format!("{}\n", running.text));
        if let Some(newest) = history.versions().first().filter(|newest| newest.confirmed)
            && history.text(newest.number).await.is_ok_and(|newest| newest == text)
        {
            self.transactions().unsaved.borrow_mut().clear();
            return Ok(None);
        }
        let (time, author) = (self.date(), author.to_string());
        let (comment, confirmed) = (terms.comment, terms.confirm_within.is_none());
        let version = Version { number: 0, time, author, what, comment, confirmed };
        let version = history.record(version, &text).await?;
        self.transactions().unsaved.borrow_mut().clear();
        Ok(Some(version))
    }

    /// Runs a change to its end, even if whoever waits for it goes away.
    pub(super) async fn change_to_the_end<T: 'static>(
        &self,
        work: impl Future<Output = Result<T, TransactionError>> + 'static,
    ) -> Result<T, TransactionError> {
        self.to_the_end("transaction", work).await.unwrap_or(Err(TransactionError::Failed))
    }
}

/// Steps in their order; what goes and comes back is marked.
fn numbered(steps: &[Step]) -> Reply {
    let removed: HashSet<_> = steps.iter().filter(|step| step.new.is_none()).map(Step::id).collect();
    let created: HashSet<_> = steps.iter().filter(|step| step.old.is_none()).map(Step::id).collect();
    let width = steps.len().to_string().len();
    let (mut text, mut list) = (String::new(), Vec::new());
    for (index, step) in steps.iter().enumerate() {
        let (sign, change) = match (&step.old, &step.new) {
            (None, _) => ('+', "create"),
            (_, None) => ('-', "delete"),
            _ => ('~', "update"),
        };
        let (number, id) = (index + 1, step.id());
        let replaced = removed.contains(&id) && created.contains(&id);
        let note = if replaced { "  (replaced: down and up again)" } else { "" };
        text.push_str(&format!("{number:width$}  {sign} {id}{note}\n"));
        list.push(json!({"step": number, "change": change, "object": id.to_string(), "replaced": replaced}));
    }
    if steps.is_empty() {
        text.push_str("this is what runs already\n");
    }
    Reply::new(text, Value::Array(list))
}

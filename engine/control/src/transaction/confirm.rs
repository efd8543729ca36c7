//! Rollback to a version of the history: on request, or because a version was not confirmed in time.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::Told;
use super::change::Goal;
use super::state::Unconfirmed;
use super::{Author, Source, Store, Terms, TransactionError, Version};
use crate::cli::Reply;
use crate::control::Control;

/// Pause before the next attempt, after a rollback failed.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// The same, while an author holds the configuration.
const HELD_AGAIN: Duration = Duration::from_millis(100);

impl Control {
    /// Takes over the history that a store has kept. A version that was not confirmed when the daemon ended is taken
    /// back: the saved configuration is the one before it.
    pub async fn open_history(&self, store: Rc<dyn Store>) -> Result<(), TransactionError> {
        let history = &self.transactions().history;
        history.open(store).await?;
        let newest = history.versions().into_iter().next();
        if let (Some(newest), Some(saved)) = (newest.filter(|newest| !newest.confirmed), history.saved()) {
            let text = history.text(saved.number).await?;
            let what =
                format!("rollback to version {}: quiverd ended before {} was confirmed", saved.number, newest.number);
            tracing::warn!("{what}");
            history.record(self.going_back(what), text).await?;
        }
        Ok(())
    }

    /// Makes the saved configuration run, as a daemon does at its start. Nothing if there is none.
    pub async fn resume(&self) -> Result<Option<Version>, TransactionError> {
        let Some(saved) = self.transactions().history.saved() else { return Ok(None) };
        match self.go_to(&saved, "start".to_owned(), Terms::default()).await {
            Ok(_) => Ok(Some(saved)),
            Err(error) => {
                *self.transactions().not_resumed.borrow_mut() = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Makes the configuration run that was the newest so many versions back; 0 is the newest. It becomes the newest
    /// version in turn.
    pub async fn rollback(&self, back: usize, terms: Terms) -> Result<Reply, TransactionError> {
        let version = self.version(back)?;
        self.go_to(&version, format!("rollback to version {}", version.number), terms).await
    }

    /// The version that was the newest so many versions back.
    pub(super) fn version(&self, back: usize) -> Result<Version, TransactionError> {
        let versions = self.transactions().history.versions();
        let last = versions.len().checked_sub(1).ok_or(TransactionError::NoHistory)?;
        versions.into_iter().nth(back).ok_or(TransactionError::NoVersion { asked: back, last })
    }

    /// Confirms the newest version.
    pub async fn confirm(&self) -> Result<Reply, TransactionError> {
        let hold = self.hold("confirm")?;
        let version = match &*self.transactions().unconfirmed.borrow() {
            Some(unconfirmed) => unconfirmed.version.clone(),
            None => return Err(TransactionError::NothingUnconfirmed),
        };
        let control = self.clone();
        self.change_to_the_end(async move {
            let _hold = hold;
            control.transactions().history.confirm(&version).await?;
            control.end_unconfirmed();
            let told = Told { what: "confirm", version: Some(version.number), ..Told::default() };
            control.audit_whole(told, &Value::Null);
            let text = format!("version {} ({}) is kept", version.number, version.what);
            Ok(Reply::new(text, json!({"version": version.number})))
        })
        .await
    }

    /// Takes a version back unless it is confirmed in time.
    pub(super) fn await_confirmation(&self, version: &Version, within: Duration) {
        let (until, number, control) =
            (self.now() + within, version.number, self.by(Author::default()).through(Source::default()));
        let timer = self.spawn("confirmation", async move {
            control.sleep_until(until).await;
            control.take_back(number).await;
        });
        let (version, by, what) = (version.clone(), self.author().clone(), version.what.clone());
        *self.transactions().unconfirmed.borrow_mut() = Some(Unconfirmed { version, by, what, until, timer });
    }

    /// Nothing waits to be confirmed any more.
    pub(super) fn end_unconfirmed(&self) {
        let ended = self.transactions().unconfirmed.borrow_mut().take();
        ended.into_iter().for_each(|unconfirmed| unconfirmed.timer.cancel());
    }

    /// Rolls back a version that was not confirmed in time; tries until that succeeds, or the version is confirmed
    /// after all.
    async fn take_back(&self, number: u64) {
        loop {
            let waits = self.transactions().unconfirmed.borrow().as_ref().is_some_and(|u| u.version.number == number);
            let Some(saved) = self.transactions().history.saved().filter(|_| waits) else { return };
            let what = format!("rollback to version {}: {number} was not confirmed in time", saved.number);
            tracing::warn!("{what}");
            match self.go_to(&saved, what, Terms::default()).await {
                Ok(_) => return,
                Err(TransactionError::Held { .. }) => self.sleep(HELD_AGAIN).await,
                Err(error) => {
                    tracing::error!("this failed, and is tried again: {error}");
                    self.sleep(TRY_AGAIN).await;
                }
            }
        }
    }

    /// A version ran once: resources that are missing outside now may come later.
    async fn go_to(&self, version: &Version, what: String, terms: Terms) -> Result<Reply, TransactionError> {
        let text = self.transactions().history.text(version.number).await?;
        // A version is known to have run, even if it was empty.
        let terms = Terms { allow_empty: true, ..terms };
        self.reach(Goal { what, file: format!("version {}", version.number), text, waits: true }, terms).await
    }

    /// A version that the daemon itself goes back to.
    fn going_back(&self, what: String) -> Version {
        let author = Author::default().to_string();
        Version { number: 0, time: self.date(), author, what, comment: None, confirmed: true }
    }

    /// Time left to confirm the newest version, if it must be confirmed.
    pub(super) fn confirm_within(&self) -> Option<Duration> {
        self.transactions().unconfirmed.borrow().as_ref().map(|unconfirmed| unconfirmed.until.since(self.now()))
    }
}

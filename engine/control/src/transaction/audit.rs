//! The audit log: author, time, source and content of every change of the configuration. The host decides where it is
//! kept.

use std::rc::Rc;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

use super::{Author, version};
use crate::config::Difference;
use crate::control::Control;
use crate::object::Step;

/// Objects that an entry describes at most; it counts the others. The history has all of them.
const DESCRIBED_MAX: usize = 1000;

/// A change that was made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Entry<'a> {
    /// When.
    #[serde(serialize_with = "version::rfc3339::serialize")]
    pub time: SystemTime,
    /// Its author, as the history names them.
    pub author: String,
    /// The user's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// By which way it came.
    pub source: &'static str,
    /// The operation: `apply site.yaml`, or `command` for single objects.
    pub what: &'a str,
    /// The author's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<&'a str>,
    /// The version of the history that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The objects that changed, as `quiver diff --json` shows them: without secrets.
    pub changes: Changes<'a>,
    /// Number of changed objects that are not in `changes`.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// Descriptions of changed objects. PERF: those of single objects, which clients change by the million, are written without JSON
/// values in between.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Described<'a> {
    Values(&'a [Value]),
    Differences(&'a [Difference]),
}

/// The objects that changed.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Changes<'a>(Described<'a>);

impl std::fmt::Debug for Changes<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Keeps an entry. It must not wait, since control does not.
pub trait Audit {
    /// Notes a change.
    fn note(&self, entry: &Entry<'_>);
}

/// A change without its objects.
#[derive(Clone, Copy, Default)]
pub(super) struct Told<'a> {
    pub what: &'a str,
    pub comment: Option<&'a str>,
    pub version: Option<u64>,
}

impl Control {
    /// Has every change of the configuration noted there from now on.
    pub fn audit_to(&self, audit: Rc<dyn Audit>) {
        *self.transactions().audit.borrow_mut() = Some(audit);
    }

    /// Notes changes of single objects.
    pub(crate) fn audit_steps(&self, steps: &[Step]) {
        if self.transactions().audit.borrow().is_none() {
            return;
        }
        let described = &steps[..steps.len().min(DESCRIBED_MAX)];
        let told = Told { what: "command", ..Told::default() };
        let differences: Vec<Difference> = described.iter().map(Difference::of).collect();
        self.audit(told, Described::Differences(&differences), steps.len() - described.len());
    }

    /// Notes a change of the configuration as a whole; `changes` is the output of `describe`.
    pub(super) fn audit_whole(&self, told: Told<'_>, changes: &Value) {
        let changes = changes.as_array().map_or(&[][..], Vec::as_slice);
        let described = &changes[..changes.len().min(DESCRIBED_MAX)];
        self.audit(told, Described::Values(described), changes.len() - described.len());
    }

    fn audit(&self, told: Told<'_>, changes: Described<'_>, more: usize) {
        let Some(audit) = self.transactions().audit.borrow().clone() else { return };
        let author: &Author = self.author();
        audit.note(&Entry {
            time: self.date(),
            author: author.to_string(),
            uid: author.uid(),
            source: self.source().0,
            what: told.what,
            comment: told.comment,
            version: told.version,
            changes: Changes(changes),
            more,
        });
    }
}

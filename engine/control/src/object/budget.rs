//! The memory budget of configured objects. It is charged before a room allocates anything, so that a client gets an error
//! where the daemon would run out of memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::ObjectError;
use crate::control::Control;

/// Default memory of an object in bytes: itself, its names, and its room's state.
pub(super) const OBJECT: u64 = 2048;

/// The budget, and the bytes charged by each kind. A copy tells whether changes that come later will fit.
#[derive(Clone)]
pub(super) struct Budget {
    limit: Cell<u64>,
    used: Cell<u64>,
    kinds: RefCell<BTreeMap<&'static str, u64>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { limit: Cell::new(u64::MAX), used: Cell::default(), kinds: RefCell::default() }
    }
}

impl Budget {
    /// Charges a kind for `after` bytes in place of `before`, and makes a change. If there is not enough left, or the change is
    /// refused, nothing is charged.
    pub fn change(
        &self,
        kind: &'static str,
        before: u64,
        after: u64,
        make: impl FnOnce() -> Result<(), ObjectError>,
    ) -> Result<(), ObjectError> {
        self.charge(kind, before, after)?;
        make().inspect_err(|_| self.replace(kind, after, before))
    }

    /// Charges a kind for `after` bytes in place of `before`, if there are enough.
    pub fn charge(&self, kind: &'static str, before: u64, after: u64) -> Result<(), ObjectError> {
        let used = self.used.get().saturating_sub(before).saturating_add(after);
        if after > before && used > self.limit.get() {
            return Err(self.used_up(after - before));
        }
        self.replace(kind, before, after);
        Ok(())
    }

    fn replace(&self, kind: &'static str, before: u64, after: u64) {
        let changed = |bytes: u64| bytes.saturating_sub(before).saturating_add(after);
        self.used.set(changed(self.used.get()));
        let mut kinds = self.kinds.borrow_mut();
        let of_kind = kinds.entry(kind).or_default();
        *of_kind = changed(*of_kind);
    }

    fn used_up(&self, more: u64) -> ObjectError {
        let (used, limit) = (self.used.get(), self.limit.get());
        let kinds = self.kinds.borrow();
        let most = kinds.iter().max_by_key(|(_, bytes)| **bytes);
        let most = most.map(|(kind, bytes)| format!(", {bytes} of them by {kind}")).unwrap_or_default();
        let what = format!("it takes {more} bytes, and {used} of the {limit} bytes for objects are used{most}");
        ObjectError::whole(what).remedy("delete some, or start quiverd with more --object-memory")
    }
}

/// The budget as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetUse {
    /// Bytes that all objects together may take.
    pub limit: u64,
    /// Bytes that they take.
    pub used: u64,
    /// The same by kind.
    pub kinds: Vec<(&'static str, u64)>,
}

impl Budget {
    /// The budget and its use by kind.
    pub fn usage(&self) -> BudgetUse {
        let kinds = self.kinds.borrow().iter().map(|(kind, bytes)| (*kind, *bytes)).collect();
        BudgetUse { limit: self.limit.get(), used: self.used.get(), kinds }
    }
}

impl Control {
    /// Limits the memory of objects to so many bytes, as their kinds estimate it; existing objects stay.
    pub fn set_object_memory(&self, bytes: u64) {
        self.objects().budget.limit.set(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_charged_before_it_is_taken_and_given_back_after() {
        let budget = Budget::default();
        budget.limit.set(100);
        budget.charge("a", 0, 60).unwrap();
        budget.charge("b", 0, 30).unwrap();
        let error = budget.charge("b", 0, 11).unwrap_err().to_string();
        let told = "it takes 11 bytes, and 90 of the 100 bytes for objects are used, 60 of them by a; delete some, or start \
                    quiverd with more --object-memory";
        assert_eq!(error, told);
        budget.charge("a", 60, 49).unwrap();
        budget.charge("b", 0, 11).unwrap();
        assert_eq!((budget.used.get(), budget.kinds.borrow()["b"]), (90, 41));
        // What takes less is never refused.
        budget.limit.set(10);
        budget.charge("a", 49, 48).unwrap();
    }
}

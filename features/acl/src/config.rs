//! The configured access control lists.

use std::sync::Arc;

use quiver_control::{Change, Control, LowestFree, Object, ObjectError};
use quiver_engine::{Domain, Publisher, Snapshot};

use crate::lanes::List;
use crate::rule::Rule;

quiver_control::reference! {
    /// The number of a list.
    pub struct AclNumber(u32) in "acls";
}

/// Access control list: the first rule that matches a packet permits or denies it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acls")]
pub struct Acl {
    /// ACL index, 0 to 65535.
    #[key]
    pub id: u32,
    /// Tag for people, at most 63 bytes.
    pub tag: Option<String>,
    /// Rules in the order of evaluation.
    pub rules: Vec<Rule>,
}

/// Lists there can be, and rules of one.
pub const ACLS_MAX: u32 = 1 << 16;
const RULES_MAX: usize = 1 << 16;

/// All lists, by number.
pub type Lists = Vec<Option<Arc<List>>>;

/// All lists.
pub struct Acls {
    lists: Publisher<Lists>,
    free: LowestFree,
}

impl Acls {
    pub(crate) fn new(domain: &Domain) -> Acls {
        Acls { lists: Publisher::new(domain, vec![]), free: LowestFree::default() }
    }
    /// Snapshot for workers.
    pub fn lists(&self) -> Snapshot<Lists> {
        self.lists.snapshot()
    }
    /// The same, as it was published last.
    pub fn current(&self) -> &Lists {
        self.lists.current()
    }
    /// The lowest number that no list has.
    pub(crate) fn free(&self) -> Option<u32> {
        let is_taken = |id: u32| self.current().get(id as usize).is_some_and(Option::is_some);
        Some(self.free.find(is_taken)).filter(|id| *id < ACLS_MAX)
    }
    fn set(&mut self, id: u32, list: Option<Arc<List>>) {
        if list.is_none() {
            self.free.release(id);
        }
        self.lists.update(|lists| {
            let mut lists = lists.clone();
            lists.resize(lists.len().max(id as usize + 1), None);
            lists[id as usize] = list;
            lists
        });
    }
}

/// Checks the fields of a list that need no other object.
pub(crate) fn check(acl: &Acl) -> Result<(), ObjectError> {
    if acl.id >= ACLS_MAX {
        return Err(ObjectError::field("id", format!("{} is out of range", acl.id))
            .remedy(format!("give 0 to {}", ACLS_MAX - 1)));
    }
    if acl.rules.len() > RULES_MAX {
        let what = format!("there are {}", acl.rules.len());
        return Err(ObjectError::field("rules", what).remedy(format!("give at most {RULES_MAX}")));
    }
    if acl.tag.as_ref().is_some_and(|tag| tag.len() > 63) {
        return Err(ObjectError::field("tag", "it is too long").remedy("give at most 63 bytes"));
    }
    for (index, rule) in acl.rules.iter().enumerate() {
        rule.check().map_err(|error| ObjectError { field: format!("rules[{index}].{}", error.field), ..error })?;
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, Acl>) -> Result<(), ObjectError> {
    let (acl, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    control.room_mut::<Acls>().set(acl.id, is_wanted.then(|| Arc::new(List::new(&acl.rules))));
    Ok(())
}

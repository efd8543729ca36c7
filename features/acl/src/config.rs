//! The configured access control lists, and their settings.

use quiver_control::{Change, Control, Object, ObjectError};

use crate::lists::{ACLS_MAX, Acls};
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

/// Rules of a list, at most.
pub(crate) const RULES_MAX: usize = 1 << 16;

/// Settings of all lists.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-settings")]
pub struct AclSettings {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Whether interfaces count packets and bytes by matching rule, in `/acl/N/matches`. Classification is slower then.
    #[default(false)]
    pub counters: bool,
}

impl AclSettings {
    /// The only name.
    pub const NAME: &str = "default";

    /// Has interfaces count matches by rule, or not.
    pub(crate) fn count(control: &Control, counters: bool) -> Result<(), ObjectError> {
        let name = AclSettings::NAME.to_owned();
        control.assign(&name.clone(), counters.then_some(AclSettings { name, counters }))
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
    check_tag(acl.tag.as_ref())?;
    for (index, rule) in acl.rules.iter().enumerate() {
        rule.check().map_err(|error| ObjectError { field: format!("rules[{index}].{}", error.field), ..error })?;
    }
    Ok(())
}

/// Checks the tag of a list.
pub(crate) fn check_tag(tag: Option<&String>) -> Result<(), ObjectError> {
    match tag.is_some_and(|tag| tag.len() > 63) {
        true => Err(ObjectError::field("tag", "it is too long").remedy("give at most 63 bytes")),
        false => Ok(()),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, Acl>) -> Result<(), ObjectError> {
    let mut acls = control.room_mut::<Acls>();
    match change {
        Change::Create(new) | Change::Update { new, .. } => acls.set(new.id, &new.rules),
        Change::Delete(old) => acls.delete(old.id),
    }
    Ok(())
}

/// Checks settings.
pub(crate) fn check_settings(settings: &AclSettings) -> Result<(), ObjectError> {
    match settings.name.as_str() {
        AclSettings::NAME => Ok(()),
        other => Err(ObjectError::field("name", format!("there are no settings '{other}'")).remedy("name it default")),
    }
}

pub(crate) fn apply_settings(control: &Control, change: Change<'_, AclSettings>) -> Result<(), ObjectError> {
    let (_, new) = change.sides();
    control.room_mut::<Acls>().count(new.is_some_and(|settings| settings.counters));
    Ok(())
}

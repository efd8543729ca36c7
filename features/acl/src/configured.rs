//! Changes of lists and of their settings.

use quiver_control::{Change, Control, ObjectError};

use crate::config::{Acl, AclSettings};
use crate::lists::Acls;
use crate::reflect;

pub(crate) fn apply(control: &Control, change: Change<'_, Acl>) -> Result<(), ObjectError> {
    match change {
        Change::Create(new) => control.room_mut::<Acls>().set(new.id, &new.rules),
        Change::Update { new, .. } => {
            // Before anything has changed.
            reflect::prepare(control, new)?;
            control.room_mut::<Acls>().set(new.id, &new.rules);
            reflect::follow_rules(control, new);
        }
        Change::Delete(old) => control.room_mut::<Acls>().delete(old.id),
    }
    Ok(())
}

pub(crate) fn apply_settings(control: &Control, change: Change<'_, AclSettings>) -> Result<(), ObjectError> {
    let (_, new) = change.sides();
    let settings = new.cloned().unwrap_or_else(AclSettings::standard);
    control.room_mut::<Acls>().count(settings.counters);
    reflect::set_timeouts(control, &settings);
    Ok(())
}

//! Applies configuration changes.

use quiver_control::{Change, Control, ObjectError};

use crate::advertiser::Advertisers;
use crate::config::{AdvertisedPrefix, PREFIXES_MAX, RouterAdvertisements, on_link};
use crate::keeper;

pub(crate) fn apply(control: &Control, change: Change<'_, RouterAdvertisements>) -> Result<(), ObjectError> {
    let (name, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new.clone())),
        Change::Delete(old) => (&old.interface, None),
    };
    let id = on_link(control, name)?;
    control.room_mut::<Advertisers>().of(id).config = wanted;
    keeper::follow(control, id);
    keeper::restart(control, id);
    Ok(())
}

pub(crate) fn apply_prefix(control: &Control, change: Change<'_, AdvertisedPrefix>) -> Result<(), ObjectError> {
    let name = match change {
        Change::Create(of) | Change::Update { new: of, .. } | Change::Delete(of) => &of.interface,
    };
    let id = on_link(control, name)?;
    let mut room = control.room_mut::<Advertisers>();
    let prefixes = &mut room.of(id).prefixes;
    match change {
        Change::Create(_) if prefixes.len() >= PREFIXES_MAX => {
            let what = format!("{name} has {PREFIXES_MAX} prefixes already");
            return Err(ObjectError::whole(what).remedy("delete one of them first"));
        }
        Change::Create(new) => prefixes.push(new.clone()),
        Change::Update { old, new } => {
            let old = prefixes.iter_mut().find(|known| known.prefix == old.prefix);
            old.into_iter().for_each(|known| *known = new.clone());
        }
        Change::Delete(old) => prefixes.retain(|known| known.prefix != old.prefix),
    }
    drop(room);
    keeper::restart(control, id);
    Ok(())
}

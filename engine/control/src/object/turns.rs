//! Deletion of an object with very many users, in turns.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::any::AnyObject;
use super::registry::natural;
use super::{HashSet, Object, ObjectError, ObjectRef, Step};
use crate::control::Control;
use crate::pace::Pace;

impl Control {
    /// Deletes an object and its users, as [`Control::delete_with_users`] does, in turns: others have theirs meanwhile,
    /// however many objects go. These go one by one, so after an error the objects deleted before stay deleted; new
    /// users of the object go as well. It runs to its end even if this future is dropped.
    pub async fn delete_in_turns<O: Object>(&self, key: &O::Key) -> Result<(), ObjectError> {
        let (control, key) = (self.clone(), key.clone());
        let work = async move {
            if let Some(object) = control.objects().get::<O>(&key) {
                control.delete_users(AnyObject::provides(&*object)).await?;
            }
            control.delete_with_users::<O>(&key)
        };
        self.to_the_end("deletion", work).await.unwrap_or_else(|| Err(ObjectError::inside()))
    }

    /// Deletes the users of these names, each before the objects that it uses.
    async fn delete_users(&self, names: Vec<ObjectRef>) -> Result<(), ObjectError> {
        let mut pace = Pace::in_turns(self);
        // Names that go as a whole, and those still to be examined, the next one last.
        let mut going: HashSet<ObjectRef> = names.iter().cloned().collect();
        let mut stack = self.users_in_order(&going, &mut pace).await;
        while let Some(id) = stack.pop() {
            pace.step().await;
            // Another client may have deleted or changed it since.
            let Some(object) = self.objects().running(&id) else { continue };
            let Some(kind) = self.objects().kind_named(id.space) else { continue };
            let rest = object.without(&going).filter(|rest| kind.check(&**rest).is_ok());
            if rest.is_none() {
                let own: HashSet<ObjectRef> = object.provides().into_iter().collect();
                let users = self.users_in_order(&own, &mut pace).await;
                // New ones may have come since it was looked at last.
                if !users.is_empty() {
                    going.extend(own);
                    stack.push(id);
                    stack.extend(users);
                    continue;
                }
            }
            self.change(vec![Step::new(kind, Some(object), rest)])?;
        }
        Ok(())
    }

    /// Objects that refer to one of these names, in the order of their deletion: last kinds first, then by name.
    async fn users_in_order(&self, names: &HashSet<ObjectRef>, pace: &mut Pace) -> Vec<ObjectRef> {
        let users = self.objects().names.borrow().users_of(names);
        let kinds = self.objects().kinds();
        let mut order = BTreeMap::new();
        for user in users {
            pace.step().await;
            let id = user.id();
            let rank = kinds.iter().position(|kind| kind.name() == id.space);
            let (stem, number, _) = natural(&id.name);
            order.insert((Reverse(rank), stem, number, id.name.clone()), id);
        }
        order.into_values().rev().collect()
    }
}

//! Deleting what very many objects refer to, in turns.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::any::AnyObject;
use super::registry::natural;
use super::{HashSet, Object, ObjectError, ObjectRef, Step};
use crate::control::Control;
use crate::pace::Pace;

impl Control {
    /// Deletes an object and what refers to it, as [`Control::delete_with_users`] does, in turns: others have theirs
    /// meanwhile, however many objects go. These go one by one, so after an error those stay away that went before it;
    /// what comes to refer to the object meanwhile goes as well. It goes on to its end even if this future is dropped.
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

    /// Deletes what refers to these names, users before what they use.
    async fn delete_users(&self, names: Vec<ObjectRef>) -> Result<(), ObjectError> {
        let mut pace = Pace::in_turns(self);
        // What goes as a whole, and what is to be looked at, the next one last.
        let mut going: HashSet<ObjectRef> = names.iter().cloned().collect();
        let mut stack = self.users_in_order(&going, &mut pace).await;
        while let Some(id) = stack.pop() {
            pace.step().await;
            // Somebody may have deleted it or changed it since.
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

    /// What refers to one of these names, in the reverse of the order in which it goes: last kinds go first, then by name.
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

//! Changes of the configuration by commands: one object at a time, in one turn.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::any::{AnyKind, AnyObject};
use super::registry::natural;
use super::{HashSet, Instance, Object, ObjectError, ObjectRef, Step, shorten_of};
use crate::control::Control;
use crate::pace::{Pace, at_once};

impl Control {
    /// Makes `object` run: creates it, or updates the one with its key. Nothing happens if it runs already.
    pub fn put<O: Object>(&self, object: O) -> Result<(), ObjectError> {
        let kind = self.kind_of::<O>();
        let old = kind.find(&object);
        self.change(vec![Step::new(kind, old, Some(Rc::new(object)))])
    }

    /// Makes `object` run, or without one deletes the one of this key, if it runs.
    pub fn assign<O: Object>(&self, key: &O::Key, object: Option<O>) -> Result<(), ObjectError> {
        match object {
            Some(object) => self.put(object),
            None if self.objects().get::<O>(key).is_none() => Ok(()),
            None => self.delete::<O>(key),
        }
    }

    /// Changes the running object that has the key of `base`; if none runs, creates `base` with the change.
    pub fn edit<O: Object>(&self, base: O, change: impl FnOnce(&mut O)) -> Result<(), ObjectError> {
        let mut object = self.objects().get::<O>(&base.key()).map_or(base, |old| O::clone(&old));
        change(&mut object);
        self.put(object)
    }

    /// Deletes an object. An error if it does not run, or if others refer to it.
    pub fn delete<O: Object>(&self, key: &O::Key) -> Result<(), ObjectError> {
        self.change(vec![self.deletion::<O>(key)?])
    }

    /// Deletes an object and all that refer to it, directly or not. From a list only the referring item is deleted; its
    /// object goes with the last item, or if its kind refuses the rest.
    pub fn delete_with_users<O: Object>(&self, key: &O::Key) -> Result<(), ObjectError> {
        let mut deletions = vec![self.deletion::<O>(key)?];
        let mut updates: BTreeMap<ObjectRef, Step> = BTreeMap::new();
        let mut gone: HashSet<ObjectRef> = deletions.iter().flat_map(Step::removed_names).cloned().collect();
        let mut last = gone.clone();
        // Each round finds the users of the objects that the last one removes.
        while !last.is_empty() {
            let planned = deletions.iter().map(Step::id).collect();
            let mut next = HashSet::default();
            for user in self.deletions_of_users(&last, &planned) {
                let rest = user.old.as_ref().and_then(|old| old.object.without(&gone));
                match rest.filter(|rest| user.kind.check(&**rest).is_ok()) {
                    Some(rest) => {
                        _ = updates.insert(user.id(), Step { new: Some(Instance::of(rest)), ..user });
                    }
                    None => {
                        updates.remove(&user.id());
                        next.extend(user.removed_names().iter().cloned());
                        deletions.push(user);
                    }
                }
            }
            gone.extend(next.iter().cloned());
            last = next;
        }
        deletions.extend(updates.into_values());
        self.change(deletions)
    }

    /// Makes changes that belong together, in one go: all of them or none.
    pub(super) fn change(&self, steps: Vec<Step>) -> Result<(), ObjectError> {
        self.check_free()?;
        let steps: Vec<Step> = steps.into_iter().filter(Step::changes_something).collect();
        if steps.is_empty() {
            return Ok(());
        }
        let asked = (!self.objects().pending.is_empty()).then(|| steps.clone());
        let changed = at_once(async {
            let mut pace = Pace::at_once();
            let steps = self.planned(steps, &mut pace).await?;
            self.run_steps(&steps, &mut pace, &mut |_, _| {}).await.map(|()| steps)
        });
        let changed = changed.map_err(first)?;
        asked.iter().for_each(|steps| self.objects().pending.follow(steps));
        if changed.iter().any(|step| step.kind.has_content()) {
            self.forget_contents();
        }
        self.audit_steps(&changed);
        self.transactions().note_unsaved(self.author());
        Ok(())
    }

    fn deletion<O: Object>(&self, key: &O::Key) -> Result<Step, ObjectError> {
        match self.objects().get::<O>(key) {
            Some(old) => Ok(Step::new(self.kind_of::<O>(), Some(old), None)),
            None => {
                // Of a million, the first ones by key are enough.
                let (first, all) = self.objects().first_names::<O>();
                let remedy = if first.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("there are: {}", shorten_of(&first, all))
                };
                Err(ObjectError::whole("it does not exist")
                    .remedy(remedy)
                    .of(&ObjectRef::new(O::KIND, O::key_text(key))))
            }
        }
    }

    fn kind_of<O: Object>(&self) -> Rc<dyn AnyKind> {
        match self.objects().kind_named(O::KIND) {
            Some(kind) => kind,
            None => panic!("the kind of objects '{}' was not registered", O::KIND),
        }
    }

    /// The deletions of the running objects that refer to one of these names, but for those that are planned: by kind, in
    /// the order in which kinds were registered, and by name.
    pub(super) fn deletions_of_users(&self, names: &HashSet<ObjectRef>, planned: &HashSet<ObjectRef>) -> Vec<Step> {
        let users = self.objects().names.borrow().users_of(names);
        self.deletions(users, |id| planned.contains(id))
    }

    /// The deletions of these objects, but for those that are planned; in the same order, each once.
    pub(super) fn deletions(
        &self,
        objects: Vec<Rc<dyn AnyObject>>,
        is_planned: impl Fn(&ObjectRef) -> bool,
    ) -> Vec<Step> {
        if objects.is_empty() {
            return vec![];
        }
        let kinds = self.objects().kinds();
        let objects = objects.into_iter().filter_map(|object| {
            let id = object.id();
            let place = kinds.iter().position(|kind| kind.name() == id.space)?;
            (!is_planned(&id)).then_some((place, id, object))
        });
        let mut objects: Vec<_> = objects.collect();
        objects
            .sort_by(|(a, one, _), (b, other, _)| a.cmp(b).then_with(|| natural(&one.name).cmp(&natural(&other.name))));
        objects.dedup_by(|(_, one, _), (_, other, _)| one == other);
        let deletion = |(place, _, object): (usize, ObjectRef, _)| Step::new(kinds[place].clone(), Some(object), None);
        objects.into_iter().map(deletion).collect()
    }
}

/// The one of several errors that is told where only one can be.
pub(super) fn first(errors: Vec<ObjectError>) -> ObjectError {
    errors.into_iter().next().unwrap_or_else(|| ObjectError::whole("refused"))
}

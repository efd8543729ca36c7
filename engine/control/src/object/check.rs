//! Checks of changes against each other and against the running configuration, before any is made.

use super::spread::Spread;
use super::{HashSet, Instance, ObjectError, ObjectRef, Step, circle, shorten};
use crate::control::Control;
use crate::pace::Pace;

impl Control {
    /// Checks changes by themselves and together; nothing happens.
    pub(crate) async fn check_steps(&self, steps: &[Step], pace: &mut Pace) -> Result<(), Vec<ObjectError>> {
        let mut problems = Vec::new();
        for step in steps {
            pace.step().await;
            problems.extend(step.new.as_ref().and_then(|new| step.kind.check(&*new.object).err()));
        }
        problems.extend(self.broken_references(steps, pace).await);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Checks the outside requirements of new objects.
    pub(crate) async fn check_needs(&self, steps: &[Step], pace: &mut Pace) -> Result<(), Vec<ObjectError>> {
        let mut problems = Vec::new();
        for step in steps.iter().filter(|step| step.kind.is_outside()) {
            pace.step().await;
            let is_new =
                |new: &Instance| step.old.as_ref().is_none_or(|old| old.object.must_be_replaced_by(&*new.object));
            let new = step.new.as_ref().filter(|new| is_new(new));
            problems.extend(new.and_then(|new| step.kind.needs(&*new.object).err()));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// References that would dangle after `steps`, and names that would be provided twice.
    async fn broken_references(&self, steps: &[Step], pace: &mut Pace) -> Vec<ObjectError> {
        let mut problems = Vec::new();
        let mut removed: Spread<&ObjectRef, ()> = Spread::default();
        for step in steps {
            pace.step().await;
            for name in step.removed_names() {
                removed.insert(name, ());
            }
        }
        let mut created: Spread<&ObjectRef, &Instance> = Spread::default();
        for step in steps {
            pace.step().await;
            for (name, new) in step.created_names().iter().zip(step.new.iter().cycle()) {
                let names = self.objects().names.borrow();
                let running = names.providers.get(name).filter(|_| !removed.contains_key(name));
                let other = created.get(name).map(|other| other.id().clone());
                if let Some(other) = other.or(running.map(|object| object.id())) {
                    let what = format!("{name} exists already, made by {other}");
                    problems.push(ObjectError::whole(what).remedy("choose another name").of(new.id()));
                }
                created.insert(name, new);
            }
        }
        // How the steps change the number of references to each removed name.
        let mut uses: Spread<&ObjectRef, isize> = Spread::default();
        for step in steps {
            pace.step().await;
            for target in step.old.iter().flat_map(|old| &old.targets) {
                if removed.contains_key(target) {
                    let before = uses.get(target).copied().unwrap_or_default();
                    uses.insert(target, before - 1);
                }
            }
            let Some(new) = &step.new else { continue };
            for (index, target) in new.targets.iter().enumerate() {
                if !created.contains_key(target) && (!self.objects().exists(target) || removed.contains_key(target)) {
                    let path = &new.object.paths(&new.provides)[index];
                    problems.push(self.dangling(path, target, &removed, &created, new.id()));
                }
            }
        }
        for name in steps.iter().flat_map(Step::removed_names) {
            pace.step().await;
            if created.contains_key(name) {
                continue;
            }
            let used = self.objects().names.borrow().uses(name) as isize;
            if used + uses.get(name).unwrap_or(&0) > 0 {
                problems.push(self.still_used(name, steps));
            }
        }
        if problems.is_empty() {
            problems.extend(circle::find(self, steps, pace).await);
        }
        problems
    }

    /// The error of a reference, at `path` of the object `of`, to a missing name.
    fn dangling(
        &self,
        path: &str,
        target: &ObjectRef,
        removed: &Spread<&ObjectRef, ()>,
        created: &Spread<&ObjectRef, &Instance>,
        of: &ObjectRef,
    ) -> ObjectError {
        if let Some(provider) = self.objects().names.borrow().providers.get(target) {
            // Only a file can leave out a referenced object; commands delete users together with it.
            let ObjectRef { space, name } = provider.id();
            let it = if name == target.name { "it".into() } else { name };
            let what = format!("{} runs but this file does not define it", target.name);
            return ObjectError::field(path, what)
                .remedy(format!("add {it} under {space}, or apply with --merge"))
                .of(of);
        }
        let mut there = self.objects().names_in(target.space);
        there.retain(|name| !removed.contains_key(&ObjectRef::new(target.space, name.as_str())));
        let others = created.iter().filter(|(name, by)| name.space == target.space && by.id() != of);
        there.extend(others.map(|(name, _)| name.name.to_string()));
        there.sort();
        let remedy = match crate::cli::nearest(&target.name, there.iter().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None if there.is_empty() => "none exists so far: create it first".to_owned(),
            None => format!("there are: {}", shorten(&there)),
        };
        ObjectError::field(path, format!("there is no {target}")).remedy(remedy).of(of)
    }

    fn still_used(&self, name: &ObjectRef, steps: &[Step]) -> ObjectError {
        let planned: HashSet<ObjectRef> = steps.iter().map(Step::id).collect();
        let users = self.deletions_of_users(&[name.clone()].into_iter().collect(), &planned);
        let users: Vec<String> = users.iter().map(|step| step.id().to_string()).collect();
        let error = ObjectError::whole(format!("it is still used by {}", shorten(&users))).remedy("delete that first");
        let names = self.objects().names.borrow();
        match names.providers.get(name) {
            Some(provider) => error.of(&provider.id()),
            None => error.of(name),
        }
    }
}

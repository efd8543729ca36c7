//! Applying changes: checked whole, ordered by their references, undone when one fails.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::registry::{AnyKind, AnyObject, natural};
use super::{Object, ObjectError, ObjectRef};
use crate::control::Control;

/// One change of one object, its type known only to its kind.
#[derive(Clone)]
pub(crate) struct Step {
    pub kind: Rc<dyn AnyKind>,
    pub old: Option<Rc<dyn AnyObject>>,
    pub new: Option<Rc<dyn AnyObject>>,
}

impl Step {
    pub fn id(&self) -> ObjectRef {
        match (&self.new, &self.old) {
            (Some(object), _) | (None, Some(object)) => object.id(),
            (None, None) => ObjectRef::new(self.kind.name(), ""),
        }
    }
}

impl Control {
    /// Makes `object` run: creates it, or updates the one with its key. Nothing happens if it runs already.
    pub fn put<O: Object>(&self, object: O) -> Result<(), ObjectError> {
        let kind = self.kind_of::<O>();
        let old = self.objects().get::<O>(&object.key()).map(|old| old as Rc<dyn AnyObject>);
        self.apply_steps(vec![Step { kind, old, new: Some(Rc::new(object)) }]).map_err(first)
    }

    /// Changes the running object that has the key of `base`; if none runs, creates `base` with the change.
    pub fn edit<O: Object>(&self, base: O, change: impl FnOnce(&mut O)) -> Result<(), ObjectError> {
        let mut object = self.objects().get::<O>(&base.key()).map_or(base, |old| O::clone(&old));
        change(&mut object);
        self.put(object)
    }

    /// Deletes an object. An error if it does not run, or if others refer to it.
    pub fn delete<O: Object>(&self, key: &O::Key) -> Result<(), ObjectError> {
        self.apply_steps(vec![self.deletion::<O>(key)?]).map_err(first)
    }

    /// Deletes an object, and all objects that refer to it, directly or not.
    pub fn delete_with_users<O: Object>(&self, key: &O::Key) -> Result<(), ObjectError> {
        let mut steps = vec![self.deletion::<O>(key)?];
        let mut gone: HashSet<ObjectRef> = steps.iter().flat_map(removed_names).collect();
        // Each round finds the users of what the last one removes.
        loop {
            let planned: HashSet<_> = steps.iter().map(Step::id).collect();
            let users = self.deletions_of_users(&gone, &planned);
            if users.is_empty() {
                break;
            }
            gone = users.iter().flat_map(removed_names).collect();
            steps.extend(users);
        }
        self.apply_steps(steps).map_err(first)
    }

    fn deletion<O: Object>(&self, key: &O::Key) -> Result<Step, ObjectError> {
        match self.objects().get::<O>(key) {
            Some(old) => Ok(Step { kind: self.kind_of::<O>(), old: Some(old), new: None }),
            None => {
                let there = self.objects().names_in(O::KIND);
                let remedy = if there.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("there are: {}", shorten(&there))
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
    fn deletions_of_users(&self, names: &HashSet<ObjectRef>, planned: &HashSet<ObjectRef>) -> Vec<Step> {
        let running = self.objects().names.borrow();
        let kinds = self.objects().kinds();
        let users = running.users_of(names).filter_map(|user| {
            let id = user.id();
            let place = kinds.iter().position(|kind| kind.name() == id.space)?;
            (!planned.contains(&id)).then(|| (place, id, user.clone()))
        });
        let mut users: Vec<_> = users.collect();
        users
            .sort_by(|(a, one, _), (b, other, _)| a.cmp(b).then_with(|| natural(&one.name).cmp(&natural(&other.name))));
        let deletion =
            |(place, _, user): (usize, ObjectRef, _)| Step { kind: kinds[place].clone(), old: Some(user), new: None };
        users.into_iter().map(deletion).collect()
    }

    /// Applies changes: checks them all, orders them, applies them; if one fails, undoes those before it.
    pub(crate) fn apply_steps(&self, steps: Vec<Step>) -> Result<(), Vec<ObjectError>> {
        let steps: Vec<Step> = steps.into_iter().filter(changes_something).collect();
        self.check_steps(&steps)?;
        let steps = order(self.with_replacements(steps)).map_err(|error| vec![error])?;
        for (index, step) in steps.iter().enumerate() {
            if let Err(error) = self.apply_step(step) {
                let mut errors = vec![error.of(&step.id())];
                for done in steps[..index].iter().rev() {
                    let undo = Step { kind: done.kind.clone(), old: done.new.clone(), new: done.old.clone() };
                    if let Err(error) = self.apply_step(&undo) {
                        let error = error.of(&undo.id());
                        errors.push(ObjectError { what: format!("could not be undone: {}", error.what), ..error });
                    }
                }
                return Err(errors);
            }
        }
        Ok(())
    }

    /// Checks changes by themselves and together; nothing happens.
    pub(crate) fn check_steps(&self, steps: &[Step]) -> Result<(), Vec<ObjectError>> {
        let problems: Vec<ObjectError> = steps
            .iter()
            .filter_map(|step| step.kind.check(&**step.new.as_ref()?).err())
            .chain(self.broken_references(steps))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn apply_step(&self, step: &Step) -> Result<(), ObjectError> {
        step.kind.apply(self, step.old.clone(), step.new.clone())?;
        let mut names = self.objects().names.borrow_mut();
        if let Some(old) = &step.old {
            names.note(old, false);
        }
        if let Some(new) = &step.new {
            names.note(new, true);
        }
        Ok(())
    }

    /// References that would dangle after `steps`, and names that would be provided twice.
    fn broken_references(&self, steps: &[Step]) -> Vec<ObjectError> {
        let names = self.objects().names.borrow();
        let mut problems = Vec::new();
        let removed: HashSet<ObjectRef> = steps.iter().flat_map(removed_names).collect();
        let mut created: HashMap<ObjectRef, ObjectRef> = HashMap::new();
        for step in steps {
            for name in created_names(step) {
                let running = names.providers.get(&name).filter(|_| !removed.contains(&name));
                if let Some(other) = created.get(&name).cloned().or(running.map(|object| object.id())) {
                    let what = format!("{name} exists already, made by {other}");
                    problems.push(ObjectError::whole(what).remedy("choose another name").of(&step.id()));
                }
                created.insert(name, step.id());
            }
        }
        // How the steps change the number of references to each removed name.
        let mut uses: HashMap<&ObjectRef, isize> = HashMap::new();
        for step in steps {
            for (_, target) in step.old.iter().flat_map(|old| old.references()) {
                if let Some(name) = removed.get(&target) {
                    *uses.entry(name).or_default() -= 1;
                }
            }
            for (path, target) in step.new.iter().flat_map(|new| new.references()) {
                let there = created.contains_key(&target)
                    || names.providers.contains_key(&target) && !removed.contains(&target);
                if !there {
                    problems.push(self.dangling(&path, &target, &created, &step.id()));
                }
            }
        }
        for name in removed.iter().filter(|name| !created.contains_key(*name)) {
            let left = names.uses(name) as isize + uses.get(name).unwrap_or(&0);
            if left > 0 {
                problems.push(self.still_used(name, steps).of(&names.providers[name].id()));
            }
        }
        if problems.is_empty() { super::circle::find(steps, &names.providers).into_iter().collect() } else { problems }
    }

    /// The error of a reference, at `path` of the object `of`, to what will not be there.
    fn dangling(
        &self,
        path: &str,
        target: &ObjectRef,
        created: &HashMap<ObjectRef, ObjectRef>,
        of: &ObjectRef,
    ) -> ObjectError {
        let mut there = self.objects().names_in(target.space);
        let others = created.iter().filter(|(name, by)| name.space == target.space && *by != of);
        there.extend(others.map(|(name, _)| name.name.clone()));
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
        let users = self.deletions_of_users(&HashSet::from([name.clone()]), &planned);
        let users: Vec<String> = users.iter().map(|step| step.id().to_string()).collect();
        ObjectError::whole(format!("it is still used by {}", shorten(&users))).remedy("delete that first")
    }

    /// Splits updates that need a new object into a deletion and a creation, and so with the objects that refer to
    /// what goes and comes back under the same name.
    fn with_replacements(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut split: Vec<Step> = Vec::new();
        let mut rest: Vec<Step> = Vec::new();
        for step in steps {
            match (&step.old, &step.new) {
                (Some(old), Some(new)) if old.must_be_replaced_by(&**new) => split.extend(halves(step)),
                _ => rest.push(step),
            }
        }
        loop {
            let both = || split.iter().chain(&rest);
            let removed: HashSet<ObjectRef> = both().flat_map(removed_names).collect();
            let replaced: HashSet<ObjectRef> =
                both().flat_map(created_names).filter(|name| removed.contains(name)).collect();
            if replaced.is_empty() {
                return rest;
            }
            let uses = |object: &Option<Rc<dyn AnyObject>>| {
                object
                    .as_ref()
                    .is_some_and(|object| object.references().iter().any(|(_, name)| replaced.contains(name)))
            };
            let affected =
                |step: &Step| step.old.is_some() && step.new.is_some() && (uses(&step.old) || uses(&step.new));
            let planned: HashSet<ObjectRef> = both().map(Step::id).collect();
            // Running objects that no step touches, but that stand on something replaced, go and come back too.
            let bystanders = self.deletions_of_users(&replaced, &planned).into_iter();
            let mut more: Vec<Step> = bystanders.map(|step| Step { new: step.old.clone(), ..step }).collect();
            let (updated, others): (Vec<Step>, Vec<Step>) = rest.into_iter().partition(affected);
            rest = others;
            more.extend(updated);
            if more.is_empty() {
                return split.into_iter().chain(rest).collect();
            }
            split.extend(more.into_iter().flat_map(halves));
        }
    }
}

pub(super) fn first(errors: Vec<ObjectError>) -> ObjectError {
    errors.into_iter().next().unwrap_or_else(|| ObjectError::whole("refused"))
}

fn changes_something(step: &Step) -> bool {
    match (&step.old, &step.new) {
        (Some(old), Some(new)) => !old.equals(&**new),
        (None, None) => false,
        _ => true,
    }
}

fn halves(step: Step) -> [Step; 2] {
    [Step { kind: step.kind.clone(), old: step.old, new: None }, Step { kind: step.kind, old: None, new: step.new }]
}

/// The names that go with this step.
fn removed_names(step: &Step) -> Vec<ObjectRef> {
    match (&step.old, &step.new) {
        (Some(old), None) => old.provides(),
        _ => Vec::new(),
    }
}

/// The names that come with this step.
fn created_names(step: &Step) -> Vec<ObjectRef> {
    match (&step.old, &step.new) {
        (None, Some(new)) => new.provides(),
        _ => Vec::new(),
    }
}

/// Orders steps: what is referred to comes before its users and goes after them; a name goes before it comes back.
/// Where the references leave it open, deletions come first, last kinds first, then the order given.
fn order(mut steps: Vec<Step>) -> Result<Vec<Step>, ObjectError> {
    if steps.len() < 2 {
        return Ok(steps);
    }
    steps.sort_by_key(|step| step.new.is_some());
    let mut removes: HashMap<ObjectRef, usize> = HashMap::new();
    let mut creates: HashMap<ObjectRef, usize> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        removes.extend(removed_names(step).into_iter().map(|name| (name, index)));
        creates.extend(created_names(step).into_iter().map(|name| (name, index)));
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut waits_for: Vec<usize> = vec![0; steps.len()];
    let mut edge = |before: usize, then: usize| {
        if before != then {
            after[before].push(then);
            waits_for[then] += 1;
        }
    };
    for (index, step) in steps.iter().enumerate() {
        for (_, target) in step.new.iter().flat_map(|new| new.references()) {
            creates.get(&target).into_iter().for_each(|provider| edge(*provider, index));
        }
        for (_, target) in step.old.iter().flat_map(|old| old.references()) {
            removes.get(&target).into_iter().for_each(|provider| edge(index, *provider));
        }
        for name in created_names(step) {
            removes.get(&name).into_iter().for_each(|remover| edge(*remover, index));
        }
    }
    let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|index| waits_for[*index] == 0).collect();
    let mut sequence = Vec::with_capacity(steps.len());
    while let Some(index) = ready.pop_first() {
        sequence.push(index);
        for then in &after[index] {
            waits_for[*then] -= 1;
            if waits_for[*then] == 0 {
                ready.insert(*then);
            }
        }
    }
    if sequence.len() < steps.len() {
        let stuck = steps.iter().zip(&waits_for).filter(|(_, waits)| **waits > 0);
        let stuck: Vec<String> = stuck.map(|(step, _)| step.id().to_string()).collect();
        let what = format!("there is no order in which these can change: {}", shorten(&stuck));
        return Err(ObjectError::whole(what).remedy("change them in two steps"));
    }
    Ok(sequence.into_iter().map(|index| steps[index].clone()).collect())
}

/// The first names of a list, for messages.
pub(super) fn shorten(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

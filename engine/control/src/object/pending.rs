//! Parts of the configuration that wait: objects for which something outside is missing, and those that need such ones. They are
//! configured, and so saved, but do not run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::any::{AnyKind, AnyObject};
use super::by_key::ByKey;
use super::{HashMap, HashSet, Instance, ObjectError, ObjectRef, Step};
use crate::pace::{Pace, free};
use crate::walk::behind;

/// An object that waits. Its rest without the waiting references may run.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub kind: Rc<dyn AnyKind>,
    /// All of it.
    pub object: Rc<dyn AnyObject>,
    /// Why it waits.
    pub why: ObjectError,
    /// Whether its outside was there before, and it runs without that now.
    pub is_lost: bool,
}

/// All of them, by name.
#[derive(Default)]
pub(crate) struct Pending {
    waiting: RefCell<BTreeMap<ObjectRef, Waiting>>,
    /// Whether a task tries again.
    pub is_tried: Cell<bool>,
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    pub fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    pub fn all(&self) -> Vec<Waiting> {
        self.waiting.borrow().values().cloned().collect()
    }

    /// The object behind this name, or the first one.
    pub fn behind(&self, last: Option<&ObjectRef>) -> Option<Waiting> {
        behind(&self.waiting.borrow(), last).map(|(_, waiting)| waiting.clone())
    }

    /// Whether just this object waits.
    pub fn has(&self, object: &dyn AnyObject) -> bool {
        self.waiting.borrow().get(&object.id()).is_some_and(|waiting| waiting.object.equals(object))
    }

    /// From now on, these wait and no others.
    pub fn replace(&self, waiting: Vec<Waiting>) {
        *self.waiting.borrow_mut() = waiting.into_iter().map(|one| (one.object.id(), one)).collect();
    }

    /// One more, or one for another reason.
    pub fn add(&self, waiting: Waiting) {
        self.waiting.borrow_mut().insert(waiting.object.id(), waiting);
    }

    /// It does not wait any more.
    pub fn remove(&self, id: &ObjectRef) {
        self.waiting.borrow_mut().remove(id);
    }

    /// The configured objects of a kind: those that run, and those that wait.
    pub fn configured(&self, kind: &Rc<dyn AnyKind>) -> ByKey {
        let waiting = self.waiting.borrow();
        let of_kind = waiting.values().filter(|one| one.kind.name() == kind.name());
        ByKey::with(kind, of_kind.map(|one| one.object.clone()).collect())
    }

    /// Applies the change of a command to waiting objects: the command's values count, and the waiting parts go on to
    /// wait.
    pub fn follow(&self, steps: &[Step]) {
        for step in steps {
            let id = step.id();
            let Some(waiting) = self.waiting.borrow_mut().remove(&id) else { continue };
            let (Some(old), Some(new)) = (&step.old, &step.new) else { continue };
            if waiting.is_lost {
                // A recreated object has its requirements.
                if !old.object.must_be_replaced_by(&*new.object) {
                    self.add(Waiting { object: new.object.clone(), ..waiting });
                }
                continue;
            }
            let merged = merged(&waiting.object.values(), &old.object.values(), &new.object.values());
            if let Ok(object) = waiting.kind.read(&merged)
                && !object.equals(&*new.object)
            {
                self.add(Waiting { object, ..waiting });
            }
        }
    }
}

/// The whole of an object of which a part runs, after a change of that part.
fn merged(whole: &Map<String, Value>, part: &Map<String, Value>, now: &Map<String, Value>) -> Map<String, Value> {
    let field = |(name, now): (&String, &Value)| {
        let value = match (whole.get(name), part.get(name)) {
            (Some(whole), Some(part)) if part == now => whole.clone(),
            (Some(Value::Array(whole)), Some(Value::Array(part))) => {
                let rest = whole.iter().filter(|item| !part.contains(item)).cloned();
                Value::Array(now.as_array().into_iter().flatten().cloned().chain(rest).collect())
            }
            _ => now.clone(),
        };
        (name.clone(), value)
    };
    now.iter().map(field).collect()
}

/// An object and its kind.
type OfKind = (Rc<dyn AnyKind>, Rc<dyn AnyObject>);

/// Leaves out objects that lack something outside (`missing`), and references to them and to names that are `gone`.
///
/// Returns for each object the part that can run, and the pending objects.
pub(crate) async fn set_aside(
    objects: &[OfKind],
    missing: &BTreeMap<ObjectRef, ObjectError>,
    gone: HashSet<ObjectRef>,
    pace: &mut Pace,
) -> (Vec<Option<Rc<dyn AnyObject>>>, Vec<Waiting>) {
    let (mut runs, mut instances, mut gone) = (vec![], vec![], gone);
    for (_, object) in objects {
        pace.step().await;
        runs.push(Some(object.clone()));
        instances.push(Instance::of(object.clone()));
    }
    let mut reasons: HashMap<usize, ObjectError> = HashMap::default();
    for (at, instance) in instances.iter().enumerate() {
        pace.step().await;
        if let Some(error) = missing.get(instance.id()) {
            reasons.insert(at, error.clone());
            gone.extend(instance.provides.iter().cloned());
            runs[at] = None;
        }
    }
    loop {
        let before = gone.len();
        for (at, instance) in instances.iter().enumerate() {
            pace.step().await;
            let Some(target) = instance.targets.iter().find(|target| gone.contains(target)) else { continue };
            if runs[at].is_none() {
                continue;
            }
            reasons.insert(at, ObjectError::whole(format!("it needs {target}, which is not there")).of(instance.id()));
            runs[at] = instance.object.without(&gone).filter(|rest| objects[at].0.check(&**rest).is_ok());
            if runs[at].is_none() {
                gone.extend(instance.provides.iter().cloned());
            }
        }
        if gone.len() == before {
            break;
        }
    }
    let mut waiting = vec![];
    for (at, (kind, object)) in objects.iter().enumerate() {
        pace.step().await;
        if let Some(why) = reasons.remove(&at) {
            waiting.push(Waiting { kind: kind.clone(), object: object.clone(), why, is_lost: false });
        }
    }
    free(instances, pace).await;
    (runs, waiting)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_command_changes_of_a_part_changes_the_whole() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let whole = map(json!({"a": 1, "list": [1, 2, 3], "b": 5}));
        let part = map(json!({"a": 1, "list": [1, 3], "b": null}));
        let now = map(json!({"a": 2, "list": [3, 4], "b": null}));
        assert_eq!(Value::Object(merged(&whole, &part, &now)), json!({"a": 2, "list": [3, 4, 2], "b": 5}));
    }
}

//! References in a circle: objects that could neither be created nor deleted in order.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::registry::AnyObject;
use super::{ObjectError, ObjectRef, Step, shorten};
use crate::control::Control;
use crate::pace::Pace;

/// A circle that the steps would close, if any. What runs has none, so only what the steps bring is followed.
pub(super) async fn find(control: &Control, steps: &[Step], pace: &mut Pace) -> Option<ObjectError> {
    let brought = steps.iter().filter_map(|step| step.new.clone());
    let brought: HashMap<ObjectRef, Rc<dyn AnyObject>> =
        brought.flat_map(|object| object.provides().into_iter().map(move |name| (name, object.clone()))).collect();
    let targets = |object: &Rc<dyn AnyObject>| -> Vec<Rc<dyn AnyObject>> {
        let running = &control.objects().names.borrow().providers;
        let names = object.references();
        names.iter().filter_map(|(_, name)| brought.get(name).or_else(|| running.get(name)).cloned()).collect()
    };
    // A walk without recursion, since chains may be long: each object on the path has the targets still to be seen.
    let mut seen: HashSet<ObjectRef> = HashSet::new();
    for start in steps.iter().filter_map(|step| step.new.as_ref()) {
        pace.step().await;
        if seen.contains(&start.id()) {
            continue;
        }
        let mut path = vec![(start.id(), targets(start))];
        let mut on_path = HashSet::from([start.id()]);
        seen.insert(start.id());
        while let Some((id, left)) = path.last_mut() {
            pace.step().await;
            let Some(target) = left.pop() else {
                on_path.remove(id);
                path.pop();
                continue;
            };
            let target_id = target.id();
            if on_path.contains(&target_id) {
                let circle = path.iter().map(|(id, _)| id).skip_while(|id| **id != target_id);
                let circle: Vec<String> = circle.map(ToString::to_string).collect();
                let what = format!("these refer to each other in a circle: {}", shorten(&circle));
                let remedy = "leave out one of the references";
                return Some(ObjectError::whole(what).remedy(remedy).of(&target_id));
            }
            if seen.insert(target_id.clone()) {
                on_path.insert(target_id.clone());
                let further = targets(&target);
                path.push((target_id, further));
            }
        }
    }
    None
}

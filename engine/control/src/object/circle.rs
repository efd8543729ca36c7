//! References in a circle: objects that could neither be created nor deleted in order.

use std::rc::Rc;

use super::{HashMap, HashSet};
use super::{Instance, ObjectError, ObjectRef, Step, shorten};
use crate::control::Control;
use crate::pace::Pace;

/// A circle that the steps would close, if any. The running configuration has none, so only new references are
/// followed.
pub(super) async fn find(control: &Control, steps: &[Step], pace: &mut Pace) -> Option<ObjectError> {
    let brought = || steps.iter().filter_map(|step| step.new.as_ref());
    let by_name: HashMap<&ObjectRef, &Rc<Instance>> =
        brought().flat_map(|new| new.provides.iter().map(move |name| (name, new))).collect();
    // A circle comes back to something that is brought.
    let comes_back = {
        let names = control.objects().names.borrow();
        brought().any(|new| new.targets.iter().any(|target| by_name.contains_key(target)))
            || by_name.keys().any(|name| names.uses(name) > 0)
    };
    if !comes_back {
        return None;
    }
    let targets = |object: &Instance| -> Vec<Rc<Instance>> {
        let running = &control.objects().names.borrow().providers;
        let target = |name: &ObjectRef| match by_name.get(name) {
            Some(brought) => Some((*brought).clone()),
            None => running.get(name).cloned().map(Instance::of),
        };
        object.targets.iter().filter_map(target).collect()
    };
    // A walk without recursion, since chains may be long: each object on the path has the targets still to be seen.
    let mut seen: HashSet<ObjectRef> = HashSet::default();
    for start in brought() {
        pace.step().await;
        if !seen.insert(start.id().clone()) {
            continue;
        }
        let mut path = vec![(start.id().clone(), targets(start))];
        let mut on_path = [start.id().clone()].into_iter().collect::<HashSet<_>>();
        while let Some((id, left)) = path.last_mut() {
            pace.step().await;
            let Some(target) = left.pop() else {
                on_path.remove(id);
                path.pop();
                continue;
            };
            let target_id = target.id();
            if on_path.contains(target_id) {
                let circle = path.iter().map(|(id, _)| id).skip_while(|id| *id != target_id);
                let circle: Vec<String> = circle.map(ToString::to_string).collect();
                let what = format!("these refer to each other in a circle: {}", shorten(&circle));
                let remedy = "leave out one of the references";
                return Some(ObjectError::whole(what).remedy(remedy).of(target_id));
            }
            if seen.insert(target_id.clone()) {
                on_path.insert(target_id.clone());
                let further = targets(&target);
                path.push((target_id.clone(), further));
            }
        }
    }
    None
}

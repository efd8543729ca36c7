//! References in a circle: objects that could neither be created nor deleted in order.

use std::rc::Rc;

use super::spread::Spread;
use super::{Instance, ObjectError, ObjectRef, Step, shorten};
use crate::control::Control;
use crate::pace::Pace;

/// A circle that the steps would close, if any. The running configuration has none, so only new references are
/// followed.
pub(super) async fn find(control: &Control, steps: &[Step], pace: &mut Pace) -> Option<ObjectError> {
    let brought = || steps.iter().filter_map(|step| step.new.as_ref());
    let mut by_name: Spread<&ObjectRef, &Rc<Instance>> = Spread::default();
    for new in brought() {
        pace.step().await;
        for name in &new.provides {
            by_name.insert(name, new);
        }
    }
    // A circle comes back to something that is brought.
    let mut comes_back = false;
    for new in brought() {
        pace.step().await;
        let names = control.objects().names.borrow();
        comes_back |= new.targets.iter().any(|target| by_name.contains_key(target));
        comes_back |= new.provides.iter().any(|name| names.uses(name) > 0);
    }
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
    let mut seen: Spread<ObjectRef, ()> = Spread::default();
    for start in brought() {
        pace.step().await;
        if seen.insert(start.id().clone(), ()).is_some() {
            continue;
        }
        let mut path = vec![(start.id().clone(), targets(start))];
        let mut on_path = Spread::default();
        on_path.insert(start.id().clone(), ());
        while let Some((id, left)) = path.last_mut() {
            pace.step().await;
            let Some(target) = left.pop() else {
                on_path.remove(id);
                path.pop();
                continue;
            };
            let target_id = target.id();
            if on_path.contains_key(target_id) {
                let circle = path.iter().map(|(id, _)| id).skip_while(|id| *id != target_id);
                let circle: Vec<String> = circle.map(ToString::to_string).collect();
                let what = format!("these refer to each other in a circle: {}", shorten(&circle));
                let remedy = "leave out one of the references";
                return Some(ObjectError::whole(what).remedy(remedy).of(target_id));
            }
            if seen.insert(target_id.clone(), ()).is_none() {
                on_path.insert(target_id.clone(), ());
                let further = targets(&target);
                path.push((target_id.clone(), further));
            }
        }
    }
    None
}

//! The names that exist, and the references to each.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::any::AnyObject;
use super::spread::Spread;
use super::{Instance, ObjectRef};

/// Existing names, the object that provides each, and the objects that refer to each.
#[derive(Default)]
pub(crate) struct Names {
    pub providers: Spread<ObjectRef, Rc<dyn AnyObject>>,
    users: Spread<ObjectRef, Users>,
    /// The objects that stand on a name if it is there.
    followers: Spread<ObjectRef, Spread<Known, ()>>,
}

/// The references to a name.
#[derive(Default)]
struct Users {
    references: usize,
    /// The objects that they are of.
    objects: Spread<Known, ()>,
}

/// An object as names know it: by its place in memory. PERF: a million routes refer to one interface.
struct Known(Rc<dyn AnyObject>);

impl Known {
    fn place(&self) -> *const () {
        Rc::as_ptr(&self.0).cast()
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Known) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

impl Names {
    /// Notes that an object came into being (`present`) or went.
    pub fn note(&mut self, instance: &Instance, present: bool) {
        let object = &instance.object;
        for name in &instance.provides {
            if present {
                self.providers.insert(name.clone(), object.clone());
            } else if self.providers.get(name).is_some_and(|provider| Rc::ptr_eq(provider, object)) {
                self.providers.remove(name);
            }
        }
        let known = || Known(object.clone());
        for name in &instance.follows {
            if present && !self.followers.contains_key(name) {
                self.followers.insert(name.clone(), Spread::default());
            }
            let Some(followers) = self.followers.get_mut(name) else { continue };
            if present {
                followers.insert(known(), ());
            } else {
                followers.remove(&known());
            }
            if followers.is_empty() {
                self.followers.remove(name);
            }
        }
        for target in &instance.targets {
            if present {
                // Most targets are referred to already; a new entry alone needs the name.
                if !self.users.contains_key(target) {
                    self.users.insert(target.clone(), Users::default());
                }
                let Some(users) = self.users.get_mut(target) else { continue };
                users.references += 1;
                users.objects.insert(known(), ());
            } else if let Some(users) = self.users.get_mut(target) {
                // All of its references go at once, so the first takes it out of the set.
                users.references -= 1;
                users.objects.remove(&known());
                if users.references == 0 {
                    self.users.remove(target);
                }
            }
        }
    }
    /// Number of references to a name.
    pub fn uses(&self, name: &ObjectRef) -> usize {
        self.users.get(name).map_or(0, |users| users.references)
    }
    /// The objects that refer to one of these names, in no order.
    pub fn users_of<'n>(&self, names: impl IntoIterator<Item = &'n ObjectRef>) -> Vec<Rc<dyn AnyObject>> {
        let users = names.into_iter().filter_map(|name| self.users.get(name));
        users.flat_map(|users| users.objects.iter()).map(|(user, ())| user.0.clone()).collect()
    }
    /// The objects that stand on this name, in no order.
    pub fn followers_of(&self, name: &ObjectRef) -> impl Iterator<Item = Rc<dyn AnyObject>> {
        self.followers.get(name).into_iter().flat_map(Spread::iter).map(|(follower, ())| follower.0.clone())
    }
    /// Whether anything stands on a name.
    pub fn has_followers(&self, name: &ObjectRef) -> bool {
        self.followers.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use serde_json::{Map, Value};

    use super::super::HashSet;
    use super::*;

    /// An object without anything in it.
    struct Empty(usize);

    impl AnyObject for Empty {
        fn id(&self) -> ObjectRef {
            ObjectRef::new("empties", self.0.to_string())
        }
        fn provides(&self) -> Vec<ObjectRef> {
            vec![self.id()]
        }
        fn targets(&self, _: &[ObjectRef]) -> Vec<ObjectRef> {
            vec![ObjectRef::new("empties", "all")]
        }
        fn paths(&self, _: &[ObjectRef]) -> Vec<String> {
            vec![]
        }
        fn without(&self, _: &HashSet<ObjectRef>) -> Option<Rc<dyn AnyObject>> {
            None
        }
        fn values(&self) -> Map<String, Value> {
            Map::new()
        }
        fn must_be_replaced_by(&self, _: &dyn AnyObject) -> bool {
            false
        }
        fn equals(&self, _: &dyn AnyObject) -> bool {
            false
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
        fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
            self
        }
    }

    #[test]
    fn names_that_were_many_give_their_places_back() {
        let mut names = Names::default();
        let all: Vec<Rc<Instance>> = (0..50_000).map(|n| Instance::of(Rc::new(Empty(n)))).collect();
        all.iter().for_each(|instance| names.note(instance, true));
        let target = ObjectRef::new("empties", "all");
        let places = |names: &Names| {
            let users = names.users.get(&target).map_or(0, |users| users.objects.capacity());
            (names.providers.capacity(), users)
        };
        let (providers, users) = places(&names);
        assert!(providers >= 50_000 && users >= 50_000);
        all[10..].iter().for_each(|instance| names.note(instance, false));
        let (providers, users) = places(&names);
        assert!(providers < 2000 && users < 2000, "{providers} names, {users} users");
        // The others are known still.
        assert_eq!((names.providers.len(), names.uses(&target)), (10, 10));
        assert!(all[..10].iter().all(|instance| names.providers.contains_key(&instance.provides[0])));
    }
}

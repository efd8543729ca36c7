//! The kinds of objects, the objects that run, and how changes are applied.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::field::{FieldInfo, Place, Problems};
use super::running::Running;
use super::{Change, Instance, Object, ObjectError, ObjectRef, Step};
use super::{HashMap, HashSet};
use crate::control::Control;

/// How a room applies its objects of one kind.
type Apply<O> = Box<dyn Fn(&Control, Change<'_, O>) -> Result<(), ObjectError>>;
/// What a room refuses, whatever else is configured.
type Check<O> = Box<dyn Fn(&O) -> Result<(), ObjectError>>;
/// What must be done before the rest of a file can be read.
type Open<O> = Box<dyn Fn(&Control, &O) -> Result<(), ObjectError>>;

/// A kind of objects: what a room registers for each of its config structs.
///
/// `Kind::new(apply)` with `fn apply(control: &Control, change: Change<'_, Tap>) -> Result<(), ObjectError>`.
/// The registry keeps the objects that run, so the room needs only what follows from them.
pub struct Kind<O: Object> {
    apply: Apply<O>,
    check: Option<Check<O>>,
    open: Option<Open<O>>,
    running: Running<O::Key, O>,
}

impl<O: Object> Kind<O> {
    /// A kind whose changes `apply` makes real. It is called once for each change, after what the object refers to
    /// was applied; when it returns an error, nothing must have changed.
    pub fn new(apply: impl Fn(&Control, Change<'_, O>) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        Kind { apply: Box::new(apply), check: None, open: None, running: Running::new(O::key) }
    }

    /// Adds what must hold of an object by itself: checked for all objects before any is applied.
    pub fn check(mut self, check: impl Fn(&O) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        self.check = Some(Box::new(check));
        self
    }

    /// Adds what is done with the objects of a file before the rest of it is read: for objects that bring further kinds
    /// into being. It is done to compare a file, too, so it must change nothing that runs.
    pub fn open(mut self, open: impl Fn(&Control, &O) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        self.open = Some(Box::new(open));
        self
    }
}

/// An object whose type is known only to its kind.
pub(crate) trait AnyObject: Any {
    fn id(&self) -> ObjectRef;
    /// The names that it brings: its own first.
    fn provides(&self) -> Vec<ObjectRef>;
    /// The targets of its references, without those to its `own` names.
    fn targets(&self, own: &[ObjectRef]) -> Vec<ObjectRef>;
    /// The path of each of these references.
    fn paths(&self, own: &[ObjectRef]) -> Vec<String>;
    /// What is left of it without what refers to names that are gone, if anything.
    fn without(&self, gone: &HashSet<ObjectRef>) -> Option<Rc<dyn AnyObject>>;
    /// The names of what it stands on if that is there.
    fn follows(&self) -> Vec<ObjectRef> {
        Vec::new()
    }
    fn values(&self) -> Map<String, Value>;
    fn must_be_replaced_by(&self, new: &dyn AnyObject) -> bool;
    fn equals(&self, other: &dyn AnyObject) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<O: Object> AnyObject for O {
    fn id(&self) -> ObjectRef {
        Object::id(self)
    }
    fn provides(&self) -> Vec<ObjectRef> {
        let own = Object::id(self);
        let names = || std::iter::once(&"").chain(O::PARTS).map(|part| format!("{}{}{part}", O::PREFIX, own.name));
        let shared = O::PROVIDES.into_iter().flat_map(|space| names().map(move |name| ObjectRef::new(space, name)));
        let shared: Vec<_> = shared.collect();
        [own].into_iter().chain(shared).collect()
    }
    fn targets(&self, own: &[ObjectRef]) -> Vec<ObjectRef> {
        let mut found = Vec::new();
        self.record_references(&Place::Whole, &mut |_, target| {
            if !own.contains(&target) {
                found.push(target);
            }
        });
        found
    }
    fn paths(&self, own: &[ObjectRef]) -> Vec<String> {
        let mut found = Vec::new();
        self.record_references(&Place::Whole, &mut |place, target| {
            if !own.contains(&target) {
                found.push(place.to_string());
            }
        });
        found
    }
    fn without(&self, gone: &HashSet<ObjectRef>) -> Option<Rc<dyn AnyObject>> {
        let own = AnyObject::provides(self);
        let rest = self.clone().record_without(&|target| gone.contains(target) && !own.contains(target))?;
        Some(Rc::new(rest))
    }
    fn follows(&self) -> Vec<ObjectRef> {
        Object::follows(self)
    }
    fn values(&self) -> Map<String, Value> {
        self.write_record()
    }
    fn must_be_replaced_by(&self, new: &dyn AnyObject) -> bool {
        new.as_any().downcast_ref::<O>().is_some_and(|new| Object::must_be_replaced_by(self, new))
    }
    fn equals(&self, other: &dyn AnyObject) -> bool {
        other.as_any().downcast_ref::<O>() == Some(self)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

/// A kind whose type is known only to itself.
pub(crate) trait AnyKind: Any {
    fn name(&self) -> &'static str;
    fn doc(&self) -> &'static str;
    fn fields(&self) -> Vec<FieldInfo>;
    fn schema(&self) -> Value;
    /// Reads and checks an object; all problems, their fields relative to the object.
    fn read(&self, values: &Map<String, Value>) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>>;
    fn check(&self, object: &dyn AnyObject) -> Result<(), ObjectError>;
    /// Whether [`AnyKind::open`] does anything.
    fn opens(&self) -> bool {
        false
    }
    /// Does what must be done before the rest of the object's file can be read.
    fn open(&self, _control: &Control, _object: &dyn AnyObject) -> Result<(), ObjectError> {
        Ok(())
    }
    fn running(&self) -> Vec<Rc<dyn AnyObject>>;
    /// The running object with the key of `like`.
    fn find(&self, like: &dyn AnyObject) -> Option<Rc<dyn AnyObject>>;
    /// Has the room apply a change, and keeps what runs then.
    fn apply(
        &self,
        control: &Control,
        old: Option<Rc<dyn AnyObject>>,
        new: Option<Rc<dyn AnyObject>>,
    ) -> Result<(), ObjectError>;
    fn as_any(&self) -> &dyn Any;
}

impl<O: Object> AnyKind for Kind<O> {
    fn name(&self) -> &'static str {
        O::KIND
    }
    fn doc(&self) -> &'static str {
        O::DOC
    }
    fn fields(&self) -> Vec<FieldInfo> {
        O::record_fields()
    }
    fn schema(&self) -> Value {
        super::field::derived::schema::<O>()
    }
    fn read(&self, values: &Map<String, Value>) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>> {
        let mut problems = Problems::default();
        match O::read_record(values, &mut problems) {
            Some(object) if problems.found.is_empty() => match self.check(&object) {
                Ok(()) => Ok(Rc::new(object)),
                Err(error) => Err(vec![error]),
            },
            _ => Err(problems.found),
        }
    }
    fn check(&self, object: &dyn AnyObject) -> Result<(), ObjectError> {
        match (&self.check, object.as_any().downcast_ref::<O>()) {
            (Some(check), Some(typed)) => check(typed).map_err(|error| error.of(&object.id())),
            _ => Ok(()),
        }
    }
    fn opens(&self) -> bool {
        self.open.is_some()
    }
    fn open(&self, control: &Control, object: &dyn AnyObject) -> Result<(), ObjectError> {
        match (&self.open, object.as_any().downcast_ref::<O>()) {
            (Some(open), Some(typed)) => open(control, typed).map_err(|error| error.of(&object.id())),
            _ => Ok(()),
        }
    }
    fn running(&self) -> Vec<Rc<dyn AnyObject>> {
        self.running.any()
    }
    fn find(&self, like: &dyn AnyObject) -> Option<Rc<dyn AnyObject>> {
        self.running.find(like)
    }
    fn apply(
        &self,
        control: &Control,
        old: Option<Rc<dyn AnyObject>>,
        new: Option<Rc<dyn AnyObject>>,
    ) -> Result<(), ObjectError> {
        self.running.change(old, new, |old, new| match Change::between(old, new) {
            Some(change) if !control.objects().rehearsed.get() => (self.apply)(control, change),
            _ => Ok(()),
        })
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Refuses changes as if their rooms did.
type Fault = Rc<dyn Fn(&ObjectRef) -> Result<(), ObjectError>>;

/// Checks one thing that changes have led to; None if there is nothing left to check.
type EndCheck = Rc<dyn Fn(&Control) -> Option<Result<(), ObjectError>>>;

/// The kinds, and which names exist.
#[derive(Default)]
pub struct Objects {
    kinds: RefCell<Kinds>,
    pub(crate) names: RefCell<Names>,
    fault: RefCell<Option<Fault>>,
    end_checks: RefCell<Vec<EndCheck>>,
    /// Whether changes are noted and nothing more.
    rehearsed: Cell<bool>,
}

/// The kinds, in the order in which they were registered.
#[derive(Default)]
struct Kinds {
    in_order: Vec<Rc<dyn AnyKind>>,
    places: HashMap<&'static str, usize>,
}

/// Which names exist, by which object, and which objects refer to each.
#[derive(Default)]
pub(crate) struct Names {
    pub providers: HashMap<ObjectRef, Rc<dyn AnyObject>>,
    users: HashMap<ObjectRef, Users>,
    /// The objects that stand on a name if it is there.
    followers: HashMap<ObjectRef, HashSet<Known>>,
}

/// The references to a name.
#[derive(Default)]
struct Users {
    references: usize,
    /// The objects that they are of.
    objects: HashSet<Known>,
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

/// Places that a map or set that was large is to have now: a million routes leave 100 MB of empty ones behind. They are given back
/// when seven of eight are empty, and twice what is needed stays, so it costs each removal next to nothing.
fn fewer_places(len: usize, capacity: usize) -> Option<usize> {
    const SMALL: usize = 1024;
    (capacity > SMALL && len < capacity / 8).then_some(len * 2)
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
                if let Some(places) = fewer_places(self.providers.len(), self.providers.capacity()) {
                    self.providers.shrink_to(places);
                }
            }
        }
        let known = || Known(object.clone());
        for name in &instance.follows {
            let followers = self.followers.entry(name.clone()).or_default();
            if present {
                followers.insert(known());
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
                users.objects.insert(known());
            } else if let Some(users) = self.users.get_mut(target) {
                // All of its references go at once, so the first takes it out of the set.
                users.references -= 1;
                users.objects.remove(&known());
                if let Some(places) = fewer_places(users.objects.len(), users.objects.capacity()) {
                    users.objects.shrink_to(places);
                }
                if users.references == 0 {
                    self.users.remove(target);
                }
            }
        }
    }
    /// How many references a name has.
    pub fn uses(&self, name: &ObjectRef) -> usize {
        self.users.get(name).map_or(0, |users| users.references)
    }
    /// The objects that refer to one of these names, in no order.
    pub fn users_of(&self, names: &HashSet<ObjectRef>) -> Vec<Rc<dyn AnyObject>> {
        let users = names.iter().filter_map(|name| self.users.get(name));
        users.flat_map(|users| &users.objects).map(|user| user.0.clone()).collect()
    }
    /// The objects that stand on one of these names, in no order.
    pub fn followers_of(&self, names: &HashSet<ObjectRef>) -> Vec<Rc<dyn AnyObject>> {
        let followers = names.iter().filter_map(|name| self.followers.get(name));
        followers.flatten().map(|follower| follower.0.clone()).collect()
    }
    /// Whether anything stands on a name.
    pub fn has_followers(&self, name: &ObjectRef) -> bool {
        self.followers.contains_key(name)
    }
}

impl Objects {
    /// Registers a kind.
    ///
    /// # Panics
    /// If there is a kind of this name: a programming error.
    pub fn add<O: Object>(&self, kind: Kind<O>) {
        assert!(self.kind_named(O::KIND).is_none(), "the kind of objects '{}' was registered twice", O::KIND);
        self.push(Rc::new(kind));
    }

    pub(super) fn push(&self, kind: Rc<dyn AnyKind>) {
        let mut kinds = self.kinds.borrow_mut();
        let place = kinds.in_order.len();
        kinds.places.insert(kind.name(), place);
        kinds.in_order.push(kind);
    }

    /// From now on, changes are checked and noted, and no room applies them: to see which configuration commands lead to,
    /// without touching the machine. What rooms would name themselves has no name then.
    pub fn rehearse(&self) {
        self.rehearsed.set(true);
    }

    /// Asks `fault` before every change of an object; what it refuses is refused as if the room had. For tests and
    /// simulations: a change may fail at any of its steps.
    pub fn inject(&self, fault: impl Fn(&ObjectRef) -> Result<(), ObjectError> + 'static) {
        *self.fault.borrow_mut() = Some(Rc::new(fault));
    }

    /// Adds what must hold once changes that belong together are all made, whatever the order in which they were: `check` is called
    /// then until nothing is left, and checks one thing each time, so that others have their turns. What it refuses is undone.
    pub fn at_end(&self, check: impl Fn(&Control) -> Option<Result<(), ObjectError>> + 'static) {
        self.end_checks.borrow_mut().push(Rc::new(check));
    }

    pub(super) fn end_checks(&self) -> Vec<EndCheck> {
        self.end_checks.borrow().clone()
    }

    pub(super) fn fault(&self, step: &Step) -> Result<(), ObjectError> {
        let fault = self.fault.borrow().clone();
        fault.map_or(Ok(()), |fault| fault(&step.id()))
    }

    /// The running object of this key.
    pub fn get<O: Object>(&self, key: &O::Key) -> Option<Rc<O>> {
        self.with(|kind: &Kind<O>| kind.running.get(key))
    }

    /// All running objects of a kind, by key.
    pub fn all<O: Object>(&self) -> Vec<Rc<O>> {
        self.with(|kind: &Kind<O>| kind.running.all())
    }

    /// The names that exist in a space, sorted: what references to it can say.
    pub fn names_in(&self, space: &str) -> Vec<String> {
        let names = self.names.borrow();
        let mut found: Vec<String> =
            names.providers.keys().filter(|name| name.space == space).map(|name| name.name.to_string()).collect();
        found.sort_by(|a, b| natural(a).cmp(&natural(b)));
        found
    }

    /// Whether a name exists.
    pub fn exists(&self, name: &ObjectRef) -> bool {
        self.names.borrow().providers.contains_key(name)
    }

    /// The running object of this name.
    pub(super) fn running(&self, id: &ObjectRef) -> Option<Rc<dyn AnyObject>> {
        self.names.borrow().providers.get(id).cloned()
    }

    /// Whether there is a kind of this name.
    pub fn has_kind(&self, name: &str) -> bool {
        self.kind_named(name).is_some()
    }

    pub(crate) fn kind_named(&self, name: &str) -> Option<Rc<dyn AnyKind>> {
        let kinds = self.kinds.borrow();
        kinds.places.get(name).map(|place| kinds.in_order[*place].clone())
    }

    pub(crate) fn kinds(&self) -> Vec<Rc<dyn AnyKind>> {
        self.kinds.borrow().in_order.clone()
    }

    fn with<O: Object, T>(&self, read: impl FnOnce(&Kind<O>) -> T) -> T {
        let kind = self.kind_named(O::KIND);
        match kind.as_ref().and_then(|kind| kind.as_any().downcast_ref()) {
            Some(kind) => read(kind),
            None => panic!("the kind of objects '{}' was not registered", O::KIND),
        }
    }
}

/// A key that sorts `tap2` before `tap10`.
pub(super) fn natural(name: &str) -> (String, u64, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0), name)
}

#[cfg(test)]
mod tests {
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
        let places = |names: &Names| (names.providers.capacity(), names.users[&target].objects.capacity());
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

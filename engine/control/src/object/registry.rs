//! The kinds of objects, and the objects that run.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::any::{AnyKind, AnyObject, Parse, Read};
use super::around::{Around, Moment};
use super::budget::{self, Budget, BudgetUse};
use super::content::{Content, Contents, ReadContent};
use super::field::{FieldInfo, HIDDEN, Problems};
use super::names::Names;
use super::pending::Pending;
use super::running::Running;
use super::{Change, HashMap, Object, ObjectError, ObjectRef, Step};
use crate::control::Control;
use crate::time::LocalFuture;

/// Function of a room that applies its objects of one kind.
type Apply<O> = Box<dyn Fn(&Control, Change<'_, O>) -> Result<(), ObjectError>>;
/// Function of a room that checks an object independently of other objects.
type Check<O> = Box<dyn Fn(&O) -> Result<(), ObjectError>>;
/// `apply` on a control side without an outside.
type Inside<O> = Box<dyn Fn(&Control, Change<'_, O>) -> Result<(), ObjectError>>;
/// Checks that an object's outside requirements are met; names the outside resources that it occupies.
type Needs<O> = Box<dyn Fn(&O) -> Result<(), ObjectError>>;
type Takes<O> = Box<dyn Fn(&O) -> Vec<String>>;
/// Begins what takes long to make of an object; nothing where that has been done, or is short.
type Prepare<O> = Box<dyn Fn(&Control, &O) -> Option<LocalFuture<()>>>;
/// Function that runs before the rest of a file can be read.
type Open<O> = Box<dyn Fn(&Control, &O) -> Result<(), ObjectError>>;

/// A kind of objects: the registration of one config struct by its room.
///
/// `Kind::new(apply)` with `fn apply(control: &Control, change: Change<'_, Tap>) -> Result<(), ObjectError>`. The
/// registry keeps the running objects, so the room needs only derived state.
pub struct Kind<O: Object> {
    apply: Apply<O>,
    check: Option<Check<O>>,
    open: Option<Open<O>>,
    outside: Option<Outside<O>>,
    content: Option<Content<O>>,
    prepare: Option<Prepare<O>>,
    /// Descriptions of its fields, made when they are first asked for: with schemas and texts they take long.
    fields: OnceCell<Rc<[FieldInfo]>>,
    /// The names of its secret fields.
    secrets: Vec<&'static str>,
    running: Running<O::Key, O>,
    /// Bytes that an object takes, with all that follows from it.
    memory: fn(&O) -> u64,
}

/// Access of a kind to the outside: the system, its devices, other programs.
struct Outside<O> {
    inside: Inside<O>,
    needs: Needs<O>,
    takes: Takes<O>,
}

impl<O: Object> Kind<O> {
    /// Creates a kind whose changes `apply` makes real. It is called once for each change, after the referenced objects
    /// were applied; when it returns an error, nothing must have changed.
    pub fn new(apply: impl Fn(&Control, Change<'_, O>) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        let secrets = O::record_fields().into_iter().filter(|field| field.secret).map(|field| field.name).collect();
        let (running, memory) = (Running::new(O::key), (|_| budget::OBJECT) as fn(&O) -> u64);
        let (apply, fields) = (Box::new(apply), OnceCell::new());
        let (check, open, outside, content, prepare) = Default::default();
        Kind { apply, check, open, outside, content, prepare, fields, secrets, running, memory }
    }

    /// Adds a check of a single object: it runs for all objects before any is applied.
    pub fn check(mut self, check: impl Fn(&O) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        self.check = Some(Box::new(check));
        self
    }

    /// Says how many bytes of memory an object takes, with all that its room makes of it, for the budget of objects. By default
    /// it is some two thousand.
    pub fn memory(self, memory: fn(&O) -> u64) -> Kind<O> {
        Kind { memory, ..self }
    }

    /// Adds a function that runs for the objects of a file before the rest of it is read: for objects that bring
    /// further kinds. It runs for comparisons, too, so it must not change the running state.
    pub fn open(mut self, open: impl Fn(&Control, &O) -> Result<(), ObjectError> + 'static) -> Kind<O> {
        self.open = Some(Box::new(open));
        self
    }

    /// Declares that the objects reach outside: into the system, which can refuse a valid change, and where deleted
    /// state cannot be restored exactly. They are created before and deleted after all others, as far as references and
    /// names allow.
    ///
    /// - `inside` does what `apply` does, without the outside: for rehearsals ([`Control::rehearse`]).
    /// - `needs` is an error if something is missing outside that an object needs, such as a namespace. It changes nothing.
    /// - `takes` names what an object takes outside, so that no other can have it: it goes before it comes again.
    pub fn outside(
        mut self,
        inside: impl Fn(&Control, Change<'_, O>) -> Result<(), ObjectError> + 'static,
        needs: impl Fn(&O) -> Result<(), ObjectError> + 'static,
        takes: impl Fn(&O) -> Vec<String> + 'static,
    ) -> Kind<O> {
        self.outside = Some(Outside { inside: Box::new(inside), needs: Box::new(needs), takes: Box::new(takes) });
        self
    }

    /// Declares that objects have content outside whose reading takes time, such as a file: `field` holds its `name`, and `read` reads
    /// it. That happens before a change is made, within a deadline; it ends when the client that asked leaves. Then `apply` gets
    /// the content by [`Control::content`]. It is read again when the field changes, and when the object comes anew.
    pub fn content<T: Send + Sync + 'static>(
        mut self,
        field: &'static str,
        name: fn(&O) -> Option<&str>,
        read: impl Fn(&Control, &O) -> LocalFuture<Result<T, ObjectError>> + 'static,
    ) -> Kind<O> {
        let read: ReadContent<O> = Box::new(move |control, object| {
            let reading = read(control, object);
            Box::pin(async move { Ok(Arc::new(reading.await?) as Read) })
        });
        self.content = Some(Content { field, name, read });
        self
    }

    /// Declares that a room makes something of an object alone that takes long, and keeps it in the object: `prepare` begins that,
    /// mostly on a helper thread, unless it is there or takes no time. It is done before a configuration is changed; then `apply`
    /// finds it in the object, also when the change is undone or rehearsed. Changes of single objects await it by themselves.
    pub fn prepare(mut self, prepare: impl Fn(&Control, &O) -> Option<LocalFuture<()>> + 'static) -> Kind<O> {
        self.prepare = Some(Box::new(prepare));
        self
    }
}

impl<O: Object> AnyKind for Kind<O> {
    fn name(&self) -> &'static str {
        O::KIND
    }
    fn doc(&self) -> &'static str {
        O::DOC
    }
    fn fields(&self) -> Rc<[FieldInfo]> {
        self.fields.get_or_init(|| O::record_fields().into()).clone()
    }
    fn schema(&self) -> Value {
        super::field::derived::schema::<O>()
    }
    fn parse(&self, values: &Map<String, Value>) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>> {
        parse::<O>(&self.secrets, values).map(|object| Rc::new(object) as _)
    }
    fn parse_aside(&self) -> Option<Parse> {
        let secrets = self.secrets.clone();
        Some(Box::new(move |values| parse::<O>(&secrets, values).map(|object| Box::new(object) as _)))
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
    fn running_after(&self, last: Option<&dyn AnyObject>) -> Vec<Rc<dyn AnyObject>> {
        self.running.after(last)
    }
    fn sorted(&self, objects: Vec<Rc<dyn AnyObject>>) -> Vec<Rc<dyn AnyObject>> {
        self.running.sorted(objects)
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
            Some(change) => match (control.objects().reach.get(), &self.outside) {
                (Reach::Nothing, _) => Ok(()),
                (Reach::Inside, Some(outside)) => (outside.inside)(control, change),
                _ => (self.apply)(control, change),
            },
            None => Ok(()),
        })
    }
    fn has_content(&self) -> bool {
        self.content.is_some()
    }
    fn content_field(&self) -> &'static str {
        self.content.as_ref().map_or("", |content| content.field)
    }
    fn content_name<'o>(&self, object: &'o dyn AnyObject) -> Option<&'o str> {
        let (content, typed) = self.content.as_ref().zip(object.as_any().downcast_ref::<O>())?;
        (content.name)(typed)
    }
    fn read_content(
        &self,
        control: &Control,
        object: &dyn AnyObject,
    ) -> Option<LocalFuture<Result<Read, ObjectError>>> {
        let (content, typed) = self.content.as_ref().zip(object.as_any().downcast_ref::<O>())?;
        Some((content.read)(control, typed))
    }
    fn prepare(&self, control: &Control, object: &dyn AnyObject) -> Option<LocalFuture<()>> {
        let (prepare, typed) = self.prepare.as_ref().zip(object.as_any().downcast_ref::<O>())?;
        prepare(control, typed)
    }
    fn memory(&self, object: &dyn AnyObject) -> u64 {
        object.as_any().downcast_ref().map_or(0, self.memory)
    }
    fn is_outside(&self) -> bool {
        self.outside.is_some()
    }
    fn needs(&self, object: &dyn AnyObject) -> Result<(), ObjectError> {
        match (&self.outside, object.as_any().downcast_ref::<O>()) {
            (Some(outside), Some(typed)) => (outside.needs)(typed).map_err(|error| error.of(&object.id())),
            _ => Ok(()),
        }
    }
    fn takes(&self, object: &dyn AnyObject) -> Vec<String> {
        match (&self.outside, object.as_any().downcast_ref::<O>()) {
            (Some(outside), Some(typed)) => (outside.takes)(typed),
            _ => vec![],
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Reads an object with these secret fields.
fn parse<O: Object>(secrets: &[&'static str], values: &Map<String, Value>) -> Result<O, Vec<ObjectError>> {
    let mut problems = Problems::default();
    for name in secrets.iter().filter(|name| values.get(**name).is_some_and(|value| *value == HIDDEN)) {
        let remedy = "write the secret, or take the file from `quiver save FILE`";
        problems.within(name, |problems| problems.add(format!("{HIDDEN} stands for a secret"), remedy));
    }
    match O::read_record(values, &mut problems) {
        Some(object) if problems.found.is_empty() => Ok(object),
        _ => Err(problems.found),
    }
}

/// Refuses changes as if their rooms did.
type Fault = Rc<dyn Fn(&ObjectRef) -> Result<(), ObjectError>>;

/// Checks one thing that changes have led to; None if there is nothing left to check.
type EndCheck = Rc<dyn Fn(&Control) -> Option<Result<(), ObjectError>>>;

/// A control side on which changes are rehearsed, one after the other.
pub struct StandIn {
    /// The control side, with the rooms of the real one.
    pub control: Control,
    /// Discards letters and tasks of its rooms, since it has neither workers nor tasks. Called every few steps.
    pub tidy: fn(&Control),
}

/// Makes a stand-in for a control side.
type MakeStandIn = Rc<dyn Fn(Control) -> LocalFuture<Result<StandIn, String>>>;

/// The kinds, and which names exist.
#[derive(Default)]
pub struct Objects {
    kinds: RefCell<Kinds>,
    pub(crate) names: RefCell<Names>,
    /// Configured objects that do not run.
    pub(crate) pending: Pending,
    fault: RefCell<Option<Fault>>,
    end_checks: RefCell<Vec<EndCheck>>,
    pub(super) around: Around,
    around_turns: Around,
    pub(super) budget: Budget,
    reach: Cell<Reach>,
    contents: RefCell<Contents>,
    make_stand_in: RefCell<Option<MakeStandIn>>,
    /// One that is not in use.
    pub(super) stand_in: RefCell<Option<StandIn>>,
}

/// Reach of changes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    /// Rooms apply them, and change the outside.
    #[default]
    Outside,
    /// Rooms apply them, and the outside is left alone.
    Inside,
    /// They are noted and nothing more.
    Nothing,
}

/// The kinds, in the order in which they were registered.
#[derive(Default)]
struct Kinds {
    in_order: Vec<Rc<dyn AnyKind>>,
    places: HashMap<&'static str, usize>,
}

impl Control {
    /// The configuration: kinds of objects, and the objects that run.
    pub fn objects(&self) -> &Objects {
        self.part()
    }
}

impl Objects {
    /// Calls `around` before and after each step of a change: the parts that its room asks for can then be done as one. A step may
    /// lie within another one.
    pub fn around_steps(&self, around: impl Fn(&Control, Moment) + 'static) {
        self.around.add(around);
    }
    /// Calls `around` before and after the steps, or the requests, that share a turn. A turn may lie within another one.
    pub fn around_turns(&self, around: impl Fn(&Control, Moment) + 'static) {
        self.around_turns.add(around);
    }
    /// Runs `work` between the two calls of the functions of [`Objects::around_turns`]. `work` must not wait.
    pub fn together<T>(control: &Control, work: impl FnOnce() -> T) -> T {
        struct Together<'c>(&'c Control);
        impl Drop for Together<'_> {
            fn drop(&mut self) {
                self.0.objects().around_turns.call(self.0, Moment::After);
            }
        }
        control.objects().around_turns.call(control, Moment::Before);
        let _together = Together(control);
        work()
    }
    /// The memory budget of objects, and its use by kind.
    pub fn budget_use(&self) -> BudgetUse {
        self.budget.usage()
    }

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

    /// From now on, changes are checked and noted, and no room applies them: to see which configuration commands lead
    /// to, without touching the machine. Names that rooms would provide themselves are missing then.
    pub fn only_note(&self) {
        self.reach.set(Reach::Nothing);
    }

    /// From now on, rooms apply changes without touching the outside: this control side is a stand-in for rehearsals.
    pub(crate) fn stay_inside(&self) {
        self.reach.set(Reach::Inside);
    }

    /// Whether rooms apply changes without touching the outside, as on a stand-in: no packets meet these rooms.
    pub fn stays_inside(&self) -> bool {
        self.reach.get() == Reach::Inside
    }

    /// Contents of objects.
    pub(super) fn contents(&self) -> Contents {
        self.contents.borrow().clone()
    }

    /// From now on, contents are those of these objects, too: of the control side that this one stands in for.
    pub(crate) fn share_contents(&self, with: &Objects) {
        *self.contents.borrow_mut() = with.contents();
    }

    /// Sets the function that makes a stand-in, once, when it is needed: a second control side ([`Control::aside`])
    /// with the same rooms, on which a new configuration is rehearsed before it runs. Without it, refusals by rooms are
    /// found while changes are applied.
    pub fn rehearse_on(&self, make: impl Fn(Control) -> LocalFuture<Result<StandIn, String>> + 'static) {
        *self.make_stand_in.borrow_mut() = Some(Rc::new(make));
        *self.stand_in.borrow_mut() = None;
    }

    pub(super) fn make_stand_in(&self) -> Option<MakeStandIn> {
        self.make_stand_in.borrow().clone()
    }

    /// Calls `fault` before every change of an object; its error counts as the room's. For tests and simulations: a
    /// change may fail at any of its steps.
    pub fn inject(&self, fault: impl Fn(&ObjectRef) -> Result<(), ObjectError> + 'static) {
        *self.fault.borrow_mut() = Some(Rc::new(fault));
    }

    /// Adds a check of the result of changes that belong together, in any order: `check` is called until it returns
    /// none, and checks one thing each time, so that others have their turns. Its error undoes the changes.
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

    /// The running object behind this key, or the first one.
    pub(crate) fn next_behind<O: Object>(&self, last: Option<&O::Key>) -> Option<Rc<O>> {
        self.with(|kind: &Kind<O>| kind.running.next_behind(last))
    }

    /// The names of the first objects of a kind, sorted, and how many objects there are.
    pub(super) fn first_names<O: Object>(&self) -> (Vec<String>, usize) {
        let (first, all) = self.with(|kind: &Kind<O>| (kind.running.after(None), kind.running.len()));
        let mut names: Vec<String> = first.iter().map(|object| object.id().name.to_string()).collect();
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        (names, all)
    }

    /// The names that exist in a space, sorted: the possible values of references to it.
    pub fn names_in(&self, space: &str) -> Vec<String> {
        let names = self.names.borrow();
        let mut found: Vec<String> = names
            .providers
            .iter()
            .map(|(name, _)| name)
            .filter(|name| name.space == space)
            .map(|name| name.name.to_string())
            .collect();
        found.sort_by(|a, b| natural(a).cmp(&natural(b)));
        found
    }

    /// Whether a name exists.
    pub fn exists(&self, name: &ObjectRef) -> bool {
        self.names.borrow().providers.contains_key(name)
    }

    /// The running object of this name.
    pub(crate) fn running(&self, id: &ObjectRef) -> Option<Rc<dyn AnyObject>> {
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

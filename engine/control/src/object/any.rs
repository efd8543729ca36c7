//! Type-erased objects and kinds.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::budget;
use super::field::{FieldInfo, Place};
use super::{HashSet, Object, ObjectError, ObjectRef};
use crate::control::Control;
use crate::time::LocalFuture;

/// Content of an object, as its room has read it.
pub(crate) type Read = Arc<dyn Any + Send + Sync>;

/// Writes the values of an object on a helper thread, except values that equal their default.
pub(crate) type Write = Box<dyn FnOnce() -> Map<String, Value> + Send>;
/// Reads an object on a helper thread.
pub(crate) type Parse =
    Box<dyn FnOnce(&Map<String, Value>) -> Result<Box<dyn AnyObject + Send>, Vec<ObjectError>> + Send>;

/// Bytes from which an object is long: it is read, written and compared aside from control.
const LONG: u64 = 256 << 10;

/// An object whose type is known only to its kind.
pub(crate) trait AnyObject: Any {
    fn id(&self) -> ObjectRef;
    /// The names that it brings: its own first.
    fn provides(&self) -> Vec<ObjectRef>;
    /// The targets of its references, without those to its `own` names.
    fn targets(&self, own: &[ObjectRef]) -> Vec<ObjectRef>;
    /// The path of each of these references.
    fn paths(&self, own: &[ObjectRef]) -> Vec<String>;
    /// The object without references to names that are gone; none if it cannot exist without them.
    fn without(&self, gone: &HashSet<ObjectRef>) -> Option<Rc<dyn AnyObject>>;
    /// Names of the objects that it follows, if they exist.
    fn follows(&self) -> Vec<ObjectRef> {
        Vec::new()
    }
    fn values(&self) -> Map<String, Value>;
    /// The same without values that are as their default; None where its type does not know these.
    fn concise_values(&self) -> Option<Map<String, Value>> {
        None
    }
    /// The values for a helper to write; None where its type cannot go there.
    fn write_aside(&self) -> Option<Write> {
        None
    }
    /// The values that differ from another object's, or from their defaults, where its type can tell; of long lists only what differs.
    fn difference(&self, _other: Option<&dyn AnyObject>) -> Option<Map<String, Value>> {
        None
    }
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
    fn concise_values(&self) -> Option<Map<String, Value>> {
        Some(self.write_concise_record())
    }
    fn write_aside(&self) -> Option<Write> {
        let copy = self.clone();
        Some(Box::new(move || copy.write_concise_record()))
    }
    fn difference(&self, other: Option<&dyn AnyObject>) -> Option<Map<String, Value>> {
        let other = other.map(|other| other.as_any().downcast_ref());
        // One of another kind is not compared.
        if other == Some(None) { None } else { Some(self.write_record_difference(other.flatten())) }
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
    /// The fields of its objects, which are described once.
    fn fields(&self) -> Rc<[FieldInfo]>;
    fn schema(&self) -> Value;
    /// Reads an object field by field; all problems, their fields relative to the object.
    fn parse(&self, values: &Map<String, Value>) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>>;
    /// The same for a helper; None if the kind's type cannot go there.
    fn parse_aside(&self) -> Option<Parse> {
        None
    }
    /// Whether an object takes so much that it is read, written and compared aside from control.
    fn is_long(&self, object: &dyn AnyObject) -> bool {
        self.memory(object) >= LONG
    }
    /// Reads and checks an object.
    fn read(&self, values: &Map<String, Value>) -> Result<Rc<dyn AnyObject>, Vec<ObjectError>> {
        let object = self.parse(values)?;
        self.check(&*object).map_err(|error| vec![error])?;
        Ok(object)
    }
    fn check(&self, object: &dyn AnyObject) -> Result<(), ObjectError>;
    /// Whether [`AnyKind::open`] does anything.
    fn opens(&self) -> bool {
        false
    }
    /// Runs the kind's `open` function before the rest of the file is read.
    fn open(&self, _control: &Control, _object: &dyn AnyObject) -> Result<(), ObjectError> {
        Ok(())
    }
    /// Whether its objects reach outside.
    fn is_outside(&self) -> bool {
        false
    }
    /// An error if something is missing outside that the object needs.
    fn needs(&self, _object: &dyn AnyObject) -> Result<(), ObjectError> {
        Ok(())
    }
    /// Names of outside resources that the object occupies, such as a Linux interface.
    fn takes(&self, _object: &dyn AnyObject) -> Vec<String> {
        vec![]
    }
    /// Whether its objects may have content outside.
    fn has_content(&self) -> bool {
        false
    }
    /// The field that names their content.
    fn content_field(&self) -> &'static str {
        ""
    }
    /// The name of an object's content.
    fn content_name<'o>(&self, _object: &'o dyn AnyObject) -> Option<&'o str> {
        None
    }
    /// Reads an object's content.
    fn read_content(
        &self,
        _control: &Control,
        _object: &dyn AnyObject,
    ) -> Option<LocalFuture<Result<Read, ObjectError>>> {
        None
    }
    /// Begins what takes long to make of an object, before it is applied.
    fn prepare(&self, _control: &Control, _object: &dyn AnyObject) -> Option<LocalFuture<()>> {
        None
    }
    fn running(&self) -> Vec<Rc<dyn AnyObject>>;
    /// Some running objects behind `last` by key, or the first ones; none at the end.
    fn running_after(&self, last: Option<&dyn AnyObject>) -> Vec<Rc<dyn AnyObject>>;
    /// These objects by key. Of several with one key, the last one.
    fn sorted(&self, objects: Vec<Rc<dyn AnyObject>>) -> Vec<Rc<dyn AnyObject>>;
    /// Bytes that the object takes of the memory budget.
    fn memory(&self, _object: &dyn AnyObject) -> u64 {
        budget::OBJECT
    }
    /// The running object with the key of `like`.
    fn find(&self, like: &dyn AnyObject) -> Option<Rc<dyn AnyObject>>;
    /// Has the room apply a change, and keeps the resulting object.
    fn apply(
        &self,
        control: &Control,
        old: Option<Rc<dyn AnyObject>>,
        new: Option<Rc<dyn AnyObject>>,
    ) -> Result<(), ObjectError>;
    fn as_any(&self) -> &dyn Any;
}

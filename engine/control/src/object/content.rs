//! Content that objects have outside, such as the packets of a file that a field names.
//!
//! It is read before a change is made, aside from control, and kept as long as its object runs. So `apply` finds it at hand, also
//! when the object is made anew, undone or rehearsed.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::any::{AnyKind, AnyObject, Read};
use super::{HashMap, HashSet, Object, ObjectError, ObjectRef, Step};
use crate::control::Control;
use crate::pace::Pace;
use crate::time::LocalFuture;

/// Function of a room that reads the content of an object.
pub(super) type ReadContent<O> = Box<dyn Fn(&Control, &O) -> LocalFuture<Result<Read, ObjectError>>>;

/// The content of a kind's objects.
pub(super) struct Content<O> {
    /// The field that names it.
    pub field: &'static str,
    /// Its name; none of an object without content.
    pub name: fn(&O) -> Option<&str>,
    pub read: ReadContent<O>,
}

/// The content of objects, by their names and its own.
#[derive(Clone, Default)]
pub(crate) struct Contents(Rc<RefCell<ByObject>>);

/// Contents by object, with their names.
type ByObject = HashMap<ObjectRef, Vec<(String, Read)>>;

impl Contents {
    fn get(&self, id: &ObjectRef, name: &str) -> Option<Read> {
        let contents = self.0.borrow();
        contents.get(id)?.iter().find(|(known, _)| known == name).map(|(_, read)| read.clone())
    }
    fn set(&self, id: ObjectRef, name: &str, read: Read) {
        let mut contents = self.0.borrow_mut();
        let of_object = contents.entry(id).or_default();
        // One of the same name is of an object that does not run, and is forgotten later.
        of_object.insert(0, (name.to_owned(), read));
    }
}

/// How often it is looked whether others, such as workers, still use what is to be freed.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Has a helper free what was read, as soon as nothing else uses it. PERF: to free 60 MB took the control thread 5 to 7 ms.
async fn free(control: Control, mut forgotten: Vec<Read>) {
    while forgotten.iter().any(|read| Arc::strong_count(read) > 1) {
        control.sleep(LOOK_EVERY).await;
    }
    // If it fails, it is freed all the same.
    let _ = control.by_helper(move || forgotten.clear()).await;
}

impl Control {
    /// The content of an object that is being applied, or that runs. None if it names none, or if it was never read: it is put by
    /// [`Control::put_with_content`], or part of a configuration.
    pub fn content<O: Object, T: Send + Sync + 'static>(&self, object: &O) -> Option<Arc<T>> {
        let kind = self.objects().kind_named(O::KIND)?;
        let name = kind.content_name(object)?;
        self.objects().contents().get(&Object::id(object), name)?.downcast().ok()
    }

    /// Makes an object run, as [`Control::put`] does, after its content was read. `adapt` may change other fields by what was read, or
    /// refuse the object after all: other changes may have been made meanwhile.
    pub async fn put_with_content<O: Object>(
        &self,
        mut object: O,
        adapt: impl FnOnce(&Control, &mut O) -> Result<(), ObjectError>,
    ) -> Result<(), ObjectError> {
        self.check_free()?;
        if let Some(kind) = self.objects().kind_named(O::KIND)
            && self.lacks_content(&*kind, &object)
        {
            kind.check(&object)?;
            self.read_content(&*kind, &object).await?;
        }
        let put = adapt(self, &mut object).and_then(|()| self.put(object));
        // Whoever holds the configuration has read contents for objects that do not run yet, and forgets the rest at the end.
        if self.check_free().is_ok() {
            self.forget_contents();
        }
        put
    }

    /// Has the room of an object prepare it, before [`Control::put`] makes it run ([`super::Kind::prepare`]). Refuses an object that fails
    /// its check or exceeds the memory budget. Others may change the configuration meanwhile.
    pub async fn prepare<O: Object>(&self, object: &O) -> Result<(), ObjectError> {
        let Some(kind) = self.objects().kind_named(O::KIND) else { return Ok(()) };
        let Some(prepared) = kind.prepare(self, object) else { return Ok(()) };
        self.check_free()?;
        kind.check(object)?;
        let before = kind.find(object).map_or(0, |old| kind.memory(&*old));
        self.objects().budget.clone().charge(O::KIND, before, kind.memory(object))?;
        prepared.await;
        Ok(())
    }

    /// Reads the contents that planned steps need, and has rooms prepare their objects, as far as the memory budget suffices. Contents of
    /// the objects in `read` were read before, for the same change.
    pub(crate) async fn read_contents(
        &self,
        steps: &[Step],
        read: &mut HashSet<ObjectRef>,
        pace: &mut Pace,
    ) -> Result<(), Vec<ObjectError>> {
        // The steps charge for their objects when they are made: after memory was allocated for prepared ones.
        let budget = self.objects().budget.clone();
        for step in steps {
            pace.step().await;
            let [before, after] = step.memory();
            let charged = budget.charge(step.kind.name(), before, after);
            charged.map_err(|error| vec![error.of(&step.id())])?;
            let Some(new) = step.new.as_ref() else { continue };
            if let Some(prepared) = step.kind.prepare(self, &*new.object) {
                prepared.await;
            }
            if self.lacks_content(&*step.kind, &*new.object) && !read.contains(new.id()) {
                // The next one may be on the same disk that does not answer.
                self.read_content(&*step.kind, &*new.object).await.map_err(|error| vec![error])?;
                read.insert(new.id().clone());
            }
        }
        Ok(())
    }

    /// Whether an object names content other than that of the running object with its key.
    fn lacks_content(&self, kind: &dyn AnyKind, object: &dyn AnyObject) -> bool {
        let Some(name) = kind.content_name(object) else { return false };
        let running = kind.find(object);
        let is_same = running.as_deref().and_then(|running| kind.content_name(running)) == Some(name);
        !is_same || self.objects().contents().get(&object.id(), name).is_none()
    }

    async fn read_content(&self, kind: &dyn AnyKind, object: &dyn AnyObject) -> Result<(), ObjectError> {
        let Some((name, reading)) = kind.content_name(object).zip(kind.read_content(self, object)) else {
            return Ok(());
        };
        let read = self.read_in_time(Path::new(name), reading).await;
        let read = read.unwrap_or_else(|slow| Err(ObjectError::field(kind.content_field(), slow.to_string())));
        self.objects().contents().set(object.id(), name, read.map_err(|error| error.of(&object.id()))?);
        Ok(())
    }

    /// Drops contents whose objects do not run, or name others by now.
    pub(crate) fn forget_contents(&self) {
        let contents = self.objects().contents();
        if contents.0.borrow().is_empty() {
            return;
        }
        let (mut kept, mut forgotten) = (contents.0.take(), vec![]);
        kept.retain(|id, contents| {
            let running = self.objects().kind_named(id.space).zip(self.objects().running(id));
            let name = running.as_ref().and_then(|(kind, running)| kind.content_name(&**running));
            let mut is_kept = false;
            let unused = contents.extract_if(.., |(known, _)| {
                let is_wanted = Some(known.as_str()) == name && !is_kept;
                is_kept |= is_wanted;
                !is_wanted
            });
            forgotten.extend(unused.map(|(_, read)| read));
            !contents.is_empty()
        });
        *contents.0.borrow_mut() = kept;
        if !forgotten.is_empty() {
            self.spawn("content", free(self.clone(), forgotten));
        }
    }
}

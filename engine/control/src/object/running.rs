//! The objects of one kind that run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use super::ObjectError;
use super::any::AnyObject;
use crate::walk::behind;

/// Objects that are given at a time.
pub(super) const SOME: usize = 256;

/// The running objects of a kind, by key.
pub(super) struct Running<K, O> {
    key: fn(&O) -> K,
    objects: RefCell<BTreeMap<K, Rc<O>>>,
}

impl<K: Ord, O: AnyObject> Running<K, O> {
    /// None so far; `key` tells them apart.
    pub fn new(key: fn(&O) -> K) -> Running<K, O> {
        Running { key, objects: RefCell::default() }
    }

    /// The object of this key.
    pub fn get(&self, key: &K) -> Option<Rc<O>> {
        self.objects.borrow().get(key).cloned()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.borrow().len()
    }

    /// All of them, by key.
    pub fn all(&self) -> Vec<Rc<O>> {
        self.objects.borrow().values().cloned().collect()
    }

    /// All of them, their type forgotten.
    pub fn any(&self) -> Vec<Rc<dyn AnyObject>> {
        self.objects.borrow().values().map(|object| object.clone() as Rc<dyn AnyObject>).collect()
    }

    /// The object behind this key, or the first one.
    pub fn next_behind(&self, last: Option<&K>) -> Option<Rc<O>> {
        behind(&self.objects.borrow(), last).map(|(_, object)| object.clone())
    }

    /// Up to [`SOME`] objects behind the key of `last`, or the first ones; none at the end.
    pub fn after(&self, last: Option<&dyn AnyObject>) -> Vec<Rc<dyn AnyObject>> {
        let last = last.and_then(|last| last.as_any().downcast_ref()).map(self.key);
        let bounds = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let objects = self.objects.borrow();
        objects.range(bounds).take(SOME).map(|(_, object)| object.clone() as Rc<dyn AnyObject>).collect()
    }

    /// These objects by key. Of several with one key, the last one.
    pub fn sorted(&self, objects: Vec<Rc<dyn AnyObject>>) -> Vec<Rc<dyn AnyObject>> {
        let keyed =
            objects.into_iter().filter_map(|object| Some(((self.key)(object.as_any().downcast_ref()?), object)));
        keyed.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// The one with the key of `like`.
    pub fn find(&self, like: &dyn AnyObject) -> Option<Rc<dyn AnyObject>> {
        let key = (self.key)(like.as_any().downcast_ref()?);
        self.get(&key).map(|object| object as Rc<dyn AnyObject>)
    }

    /// Lets `make` make a change real, and keeps the resulting object.
    pub fn change(
        &self,
        old: Option<Rc<dyn AnyObject>>,
        new: Option<Rc<dyn AnyObject>>,
        make: impl FnOnce(Option<&O>, Option<&O>) -> Result<(), ObjectError>,
    ) -> Result<(), ObjectError> {
        let typed = |object: Rc<dyn AnyObject>| object.as_any_rc().downcast::<O>().ok();
        let (old, new) = (old.and_then(typed), new.and_then(typed));
        make(old.as_deref(), new.as_deref())?;
        let mut objects = self.objects.borrow_mut();
        match (old, new) {
            (_, Some(new)) => objects.insert((self.key)(&new), new),
            (Some(old), None) => objects.remove(&(self.key)(&old)),
            (None, None) => None,
        };
        Ok(())
    }
}

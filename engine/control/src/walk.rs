//! Items one by one, for answers that are made in parts. Each is looked up by its key when it is asked for, so nothing is
//! borrowed or copied meanwhile: an item that comes or goes may be met or not, none is met twice, and each is as it is in that
//! moment.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use crate::control::Control;
use crate::object::Object;

/// Iterates over items in the order of their keys. `next` looks for the key and item behind a key, or for the first ones.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::BTreeMap;
/// use quiver_control::{behind, one_by_one};
///
/// let squares = RefCell::new(BTreeMap::from([(1, 1), (2, 4), (3, 9)]));
/// let mut all = one_by_one(|last| behind(&squares.borrow(), last).map(|(number, square)| (*number, *square)));
/// assert_eq!(all.next(), Some(1));
/// squares.borrow_mut().remove(&2);
/// assert_eq!(all.next(), Some(9));
/// ```
pub fn one_by_one<K, T>(mut next: impl FnMut(Option<&K>) -> Option<(K, T)>) -> impl Iterator<Item = T> {
    let mut last = None;
    std::iter::from_fn(move || {
        let (key, item) = next(last.as_ref())?;
        last = Some(key);
        Some(item)
    })
}

/// The entry of a map behind a key, or its first one.
pub fn behind<'m, K: Ord, V>(map: &'m BTreeMap<K, V>, last: Option<&K>) -> Option<(&'m K, &'m V)> {
    map.range::<K, _>((last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)).next()
}

impl Control {
    /// The running object of this key, or without a key all objects of the kind, by key, one by one.
    ///
    /// # Panics
    /// If the kind was not registered: a programming error.
    pub fn walk_of<O: Object>(&self, only: Option<&O::Key>) -> impl Iterator<Item = Rc<O>> + use<O> {
        let one = only.and_then(|only| self.objects().get::<O>(only));
        let all = only.is_none().then(|| self.walk::<O>());
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// The running objects of a kind, by key, one by one.
    ///
    /// # Panics
    /// If the kind was not registered: a programming error.
    pub fn walk<O: Object>(&self) -> impl Iterator<Item = Rc<O>> + use<O> {
        let control = self.clone();
        one_by_one(move |last| {
            let next = control.objects().next_behind::<O>(last)?;
            Some((next.key(), next))
        })
    }
}

//! Config objects: the elements of a daemon's configuration.
//!
//! - `scalar`: values that are one word ([`Scalar`]); `types`: macros that make types for them
//!   ([`reference!`](crate::reference), [`choice!`](crate::choice), [`number!`](crate::number)).
//! - `field`: how structs of scalars, options, lists and records read and write JSON-like values ([`Record`]).
//! - this module: [`Object`], a record with a kind and a key; [`Change`]. `reference`: [`ObjectRef`]; `error`: [`ObjectError`].
//! - [`described`]: kinds that are described by data, those of plugins.
//! - `any`: objects and kinds whose type is forgotten; `running`: the objects of a kind that run; `pending`: those that wait; `names`: which names exist;
//!   `registry`: [`Objects`], all of these.
//! - `content`: what objects name outside, such as a file, read before a change.
//! - `change`: what commands do, one object at a time. `step`, `check`, `circle`, `order`, `apply`: how changes are
//!   checked whole, ordered, made one by one, and taken back when one fails; `around`: what is done at each of them; `rehearsal`: made on a stand-in first. `turns`: deletions of very many, in turns.

mod any;
mod apply;
mod around;
mod budget;
mod by_key;
mod change;
mod check;
mod circle;
mod content;
pub mod described;
mod error;
pub mod field;
mod names;
mod order;
mod pending;
mod reference;
pub mod registry;
mod rehearsal;
mod running;
pub mod scalar;
mod spread;
mod step;
mod turns;
mod types;

use std::fmt;

/// Maps by the names of objects. PERF: a change looks names up dozens of times; with the standard library's hash a
/// million routes of a client took 1.1 times as long. This hash, too, has a seed of the process's own.
type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// Sets of them.
pub(crate) type HashSet<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;

pub(crate) use any::{AnyKind, AnyObject};
pub use around::Moment;
pub use budget::BudgetUse;
pub(crate) use by_key::ByKey;
pub use error::ObjectError;
pub use field::{Field, FieldInfo, HIDDEN, Place, Problems, Record};
pub(crate) use pending::{Waiting, set_aside};
pub use reference::ObjectRef;
pub use registry::{Kind, Objects, StandIn};
pub use scalar::{Interval, Scalar};
pub(crate) use spread::Spread;
pub(crate) use step::{Instance, Step};

/// A record with a kind and a key: one thing that can be configured. Derive it:
///
/// ```
/// use quiver_control::Object;
///
/// /// A bridge domain: interfaces that form one broadcast domain.
/// #[derive(Object, Clone, Debug, PartialEq)]
/// #[object(kind = "bridge-domains")]
/// pub struct BridgeDomain {
///     /// The number by which commands name it.
///     #[key]
///     pub id: u32,
///     /// Whether source addresses are learned.
///     #[default(true)]
///     pub learn: bool,
/// }
///
/// let domain = BridgeDomain::new(7);
/// assert!(domain.learn);
/// ```
///
/// `#[object(kind = "taps", provides = "interface")]` says that such an object brings something into being that
/// others may refer to under that name; `parts(".0", ".1")` behind it, that more come with it, whose names are longer by these
/// endings; `prefix = "tunnel "`, that this stands before the key there. A `#[fixed]` field cannot change under a running object: the registry then
/// deletes the object and creates it anew, and so with those that refer to it. A key field with `#[follows("kind")]` says
/// that the object stands on what that kind has under the field's name, which need not be there: before it comes, changes
/// or goes, the object is taken down, and up again after. The doc comments are the texts of the help and of the
/// documentation.
/// `new` takes the key fields; it exists where all other fields have a default.
pub trait Object: Record + Clone + PartialEq + Send {
    /// The name of the kind: plural, the section of the YAML file.
    const KIND: &'static str;
    /// The space of names in which an object of this kind brings one into being, beside that of its kind.
    const PROVIDES: Option<&'static str>;
    /// Endings of its name for further names that it provides there.
    const PARTS: &'static [&'static str] = &[];
    /// The text in front of its key in these names.
    const PREFIX: &'static str = "";
    /// Key that distinguishes objects of this kind: the key field, or a tuple of them.
    type Key: Ord + Clone + fmt::Debug + 'static;

    /// The object's key.
    fn key(&self) -> Self::Key;

    /// A key as text: the key fields' values, separated by spaces.
    fn key_text(key: &Self::Key) -> String;

    /// Whether `new`, of the same key, differs in a `#[fixed]` field.
    fn must_be_replaced_by(&self, new: &Self) -> bool;

    /// Names of the objects that it follows, if they exist.
    fn follows(&self) -> Vec<ObjectRef> {
        Vec::new()
    }

    /// Kind and key, as messages name the object.
    fn id(&self) -> ObjectRef {
        ObjectRef::new(Self::KIND, Self::key_text(&self.key()))
    }
}

/// Change of one object, as its room is asked to make it.
#[derive(Debug)]
pub enum Change<'a, O> {
    /// There was none of this key.
    Create(&'a O),
    /// It differs in some field, never in the key.
    Update {
        /// As it runs.
        old: &'a O,
        /// As it shall be.
        new: &'a O,
    },
    /// It shall be no more.
    Delete(&'a O),
}

impl<'a, O> Change<'a, O> {
    /// The change from one state to another; none if there is nothing on either side.
    pub(crate) fn between(old: Option<&'a O>, new: Option<&'a O>) -> Option<Change<'a, O>> {
        match (old, new) {
            (None, None) => None,
            (None, Some(new)) => Some(Change::Create(new)),
            (Some(old), Some(new)) => Some(Change::Update { old, new }),
            (Some(old), None) => Some(Change::Delete(old)),
        }
    }

    /// The object before and after the change, where there is one.
    pub fn sides(self) -> (Option<&'a O>, Option<&'a O>) {
        match self {
            Change::Create(new) => (None, Some(new)),
            Change::Update { old, new } => (Some(old), Some(new)),
            Change::Delete(old) => (Some(old), None),
        }
    }
}

/// The first names of a list, for messages.
fn shorten(names: &[String]) -> String {
    shorten_of(names, names.len())
}

/// The same, of so many of which these are the first.
fn shorten_of(first: &[String], all: usize) -> String {
    const SHOWN: usize = 8;
    let mut text = first.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if all > SHOWN {
        text.push_str(&format!(" and {} more", all - SHOWN));
    }
    text
}

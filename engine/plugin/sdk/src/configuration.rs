//! Kinds of config objects.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::control::{self, Control};
use crate::error::SetupError;
use crate::refusal::Refusal;
use crate::value::Arguments;
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;

/// A field of a kind of config objects.
#[derive(Clone, Debug)]
pub struct Field {
    name: String,
    kind: String,
    help: String,
    default: Option<String>,
    flags: u32,
}

impl Field {
    /// A field: its name in files, the type of its values (`u8`, `bool`, `text`, `ip4`, `ip4-prefix`, `interface`: those of
    /// commands' arguments), and what it means. It must be given, unless one of the methods says otherwise.
    pub fn new(name: &str, kind: &str, help: &str) -> Field {
        Field { name: name.to_owned(), kind: kind.to_owned(), help: help.to_owned(), default: None, flags: 0 }
    }
    fn with(mut self, flag: u32) -> Field {
        self.flags |= flag;
        self
    }
    /// Makes it part of the object's key.
    #[must_use]
    pub fn key(self) -> Field {
        self.with(abi::FIELD_KEY)
    }
    /// Lets a change of it replace the object.
    #[must_use]
    pub fn fixed(self) -> Field {
        self.with(abi::FIELD_FIXED)
    }
    /// Lets it be left out.
    #[must_use]
    pub fn optional(self) -> Field {
        self.with(abi::FIELD_OPTIONAL)
    }
    /// Makes it a list.
    #[must_use]
    pub fn list(self) -> Field {
        self.with(abi::FIELD_LIST)
    }
    /// The word that stands for it where it is left out.
    #[must_use]
    pub fn default(mut self, word: &str) -> Field {
        self.default = Some(word.to_owned());
        self
    }
    fn crossing(&self) -> abi::Field {
        let default_word = self.default.as_ref().map_or(abi::Text::NONE, |word| abi::Text::new(word));
        let [name, help, kind] = [&self.name, &self.help, &self.kind].map(|text| abi::Text::new(text));
        abi::Field { name, help, kind, default_word, flags: self.flags }
    }
}

/// A config object's fields.
pub type Object<'a> = Arguments<'a>;

/// A change of an object: none before is a creation, none after a deletion.
pub struct Change<'a> {
    /// The object before the change.
    pub before: Option<Object<'a>>,
    /// The object after the change.
    pub after: Option<Object<'a>>,
}

type Apply = Box<dyn Fn(&Control<'_>, &Change<'_>) -> Result<(), Refusal>>;
type Check = Box<dyn Fn(&Object<'_>) -> Result<(), Refusal>>;

/// A kind of config objects.
pub struct Kind {
    name: String,
    help: String,
    fields: Vec<Field>,
    apply: Apply,
    check: Check,
}

impl Kind {
    /// A kind, the section of the configuration file of this name. `apply` makes a change real; if it refuses, nothing must
    /// have changed.
    pub fn new(
        name: &str,
        help: &str,
        fields: impl IntoIterator<Item = Field>,
        apply: impl Fn(&Control<'_>, &Change<'_>) -> Result<(), Refusal> + 'static,
    ) -> Kind {
        let (apply, check) = (Box::new(apply), Box::new(|_: &Object<'_>| Ok(())));
        Kind { name: name.to_owned(), help: help.to_owned(), fields: fields.into_iter().collect(), apply, check }
    }
    /// Refuses what does not hold of an object by itself.
    #[must_use]
    pub fn check(mut self, check: impl Fn(&Object<'_>) -> Result<(), Refusal> + 'static) -> Kind {
        self.check = Box::new(check);
        self
    }
    pub(crate) fn cross(
        self,
        host: &'static abi::Host,
        add: impl FnOnce(&abi::Kind, &str) -> Result<(), SetupError>,
    ) -> Result<(), SetupError> {
        let fields: Vec<_> = self.fields.iter().map(Field::crossing).collect();
        // The daemon calls it for as long as the process lives.
        let user = Box::into_raw(Box::new(Applied { host, apply: self.apply, check: self.check }));
        let crossing = abi::Kind {
            name: abi::Text::new(&self.name),
            help: abi::Text::new(&self.help),
            fields: fields.as_ptr(),
            field_count: fields.len() as u32,
            user: user.cast(),
            apply: Some(apply),
            check: Some(check),
        };
        add(&crossing, &self.name)
    }
}

struct Applied {
    host: &'static abi::Host,
    apply: Apply,
    check: Check,
}

/// Reads fields of an object.
fn reader(host: &'static abi::Host, object: *const abi::Object) -> impl Fn(&str, u32) -> Option<abi::Value> {
    move |name, index| {
        let mut value = abi::Value::NONE;
        // SAFETY: the daemon's function and object, within its call.
        let status = unsafe { (host.field)(object, abi::Text::new(name), index, &mut value) };
        (status == abi::OK).then_some(value)
    }
}

unsafe extern "C" fn apply(
    user: *mut c_void,
    control: *mut abi::Control,
    change: *const abi::Change,
    answer: *mut abi::Answer,
) -> abi::Status {
    // SAFETY: `user` was leaked for this kind; the change is the daemon's, for the time of this call.
    let (applied, change) = unsafe { (&*user.cast::<Applied>(), &*change) };
    let control = Control { host: applied.host, control, answer, call: PhantomData };
    let (before, after) = (reader(applied.host, change.before), reader(applied.host, change.after));
    let told = Change {
        before: (!change.before.is_null()).then(|| Arguments::new(&before)),
        after: (!change.after.is_null()).then(|| Arguments::new(&after)),
    };
    control.end(caught(|| (applied.apply)(&control, &told)))
}

unsafe extern "C" fn check(user: *mut c_void, object: *const abi::Object, answer: *mut abi::Answer) -> abi::Status {
    // SAFETY: `user` was leaked for this kind.
    let applied = unsafe { &*user.cast::<Applied>() };
    let read = reader(applied.host, object);
    control::end(applied.host, answer, caught(|| (applied.check)(&Arguments::new(&read))))
}

use core::ffi::c_void;

use crate::{Answer, Call, Control, Object, Status, Text};

/// No value: a field or argument that was left out.
pub const VALUE_NONE: u32 = 0;
/// `number` is the value.
pub const VALUE_NUMBER: u32 = 1;
/// `number` is 1 or 0.
pub const VALUE_BOOL: u32 = 2;
/// `text` is the value.
pub const VALUE_TEXT: u32 = 3;
/// An address or prefix: its bytes are the first `byte_count` of `bytes`, a prefix's length is `number`.
pub const VALUE_ADDRESS: u32 = 4;
/// The name of an object. For an interface, `number` is its number, as packets carry it.
pub const VALUE_REFERENCE: u32 = 5;
/// In a row of an answer: the interface whose number is `number`, shown by its name.
pub const VALUE_INTERFACE: u32 = 6;

/// A value of one word. Values that the daemon gives have their usual `text` in every shape.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Value {
    /// Shape of the value, one of `QUIVER_VALUE_...`.
    pub shape: u32,
    /// Bytes of an address.
    pub byte_count: u32,
    /// The number.
    pub number: u64,
    /// The bytes of an address, in the order of the network.
    pub bytes: [u8; 16],
    /// The text.
    pub text: Text,
}

impl Value {
    /// No value.
    pub const NONE: Value = Value { shape: VALUE_NONE, byte_count: 0, number: 0, bytes: [0; 16], text: Text::NONE };
}

/// The field is part of the object's key.
pub const FIELD_KEY: u32 = 1;
/// A change of the field replaces the object.
pub const FIELD_FIXED: u32 = 2;
/// The field may be left out.
pub const FIELD_OPTIONAL: u32 = 4;
/// The field is a list of values.
pub const FIELD_LIST: u32 = 8;

/// A field of a kind of config objects.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Field {
    /// Its name in files.
    pub name: Text,
    /// Description of the field.
    pub help: Text,
    /// The type of its values, as arguments of commands have it: `u32`, `bool`, `text`, `ip4`, `ip4-prefix`, `interface`.
    pub kind: Text,
    /// The word that stands for it where it is left out; data is null if there is none.
    pub default_word: Text,
    /// `QUIVER_FIELD_...`, added up.
    pub flags: u32,
}

/// A kind of config objects, added by `add_kind`: a section of the configuration file, in the schema, in `save` and `diff`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name: plural, the section of the file.
    pub name: Text,
    /// Description of the kind.
    pub help: Text,
    /// The fields, at least one of them a key.
    pub fields: *const Field,
    /// Number of fields.
    pub field_count: u32,
    /// Handed to the functions.
    pub user: *mut c_void,
    /// Makes a change real. If it fails (`refuse` says why), nothing must have changed.
    pub apply: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            control: *mut Control,
            change: *const Change,
            answer: *mut Answer,
        ) -> Status,
    >,
    /// Refuses what does not hold of an object by itself. Changes nothing. May be null.
    pub check: Option<unsafe extern "C" fn(user: *mut c_void, object: *const Object, answer: *mut Answer) -> Status>,
}

/// A change of an object: none before is a creation, none after a deletion.
#[repr(C)]
pub struct Change {
    /// The object before the change, or null.
    pub before: *const Object,
    /// The object after the change, or null.
    pub after: *const Object,
}

/// A field and its value, for `put` and `remove`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Setting {
    /// The field.
    pub name: Text,
    /// Its value. For an address or a reference the text is read.
    pub value: Value,
}

/// A command, added by `add_command`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Command {
    /// Its grammar: `show ttl-guard [<interface>]`; words, `<name:type>`, `[x]`, `(x | y)`, `{x | y}`, `x...`.
    pub grammar: Text,
    /// Description of the command.
    pub help: Text,
    /// Handed to `run`.
    pub user: *mut c_void,
    /// Runs it at once; what it answers goes to `answer`. If it fails, `refuse` says why.
    pub run: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            control: *mut Control,
            call: *const Call,
            answer: *mut Answer,
        ) -> Status,
    >,
}

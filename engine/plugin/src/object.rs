//! A plugin's kinds of config objects.
#![allow(unsafe_code)]

use crate::calls::answer::{AnswerData, ObjectData};
use crate::calls::side::Side;
use crate::value::Texts;
use quiver_control::cli::ArgumentKind;
use quiver_control::object::described::{DescribedField, DescribedKind, Occurrence, Values};
use quiver_control::{Change, Control, ObjectError};
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::rc::Rc;

type Apply = unsafe extern "C" fn(*mut c_void, *mut abi::Control, *const abi::Change, *mut abi::Answer) -> abi::Status;
type Check = unsafe extern "C" fn(*mut c_void, *const abi::Object, *mut abi::Answer) -> abi::Status;

/// A kind as it was asked for.
pub(crate) struct DraftKind {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: Vec<DraftField>,
    pub user: *mut c_void,
    pub apply: Apply,
    pub check: Option<Check>,
}

/// A field as it was asked for.
pub(crate) struct DraftField {
    pub name: &'static str,
    pub doc: &'static str,
    pub kind: String,
    pub default: Option<String>,
    pub flags: u32,
}

impl DraftKind {
    /// The kind, if it fits together.
    pub fn describe(self, control: &Control, plugin: usize) -> Result<DescribedKind, ObjectError> {
        let fields = self.fields.into_iter().map(|field| field.describe(control)).collect::<Result<Vec<_>, _>>()?;
        let kinds: Rc<[_]> = fields.iter().map(|field| (field.name, field.kind.clone())).collect();
        let (user, apply, check) = (self.user, self.apply, self.check);
        let of_check = kinds.clone();
        let check = move |values: &Values| check.map_or(Ok(()), |check| run_check(check, user, &of_check, values));
        let apply = move |control: &Control, change: Change<'_, Values>| {
            run_apply(apply, user, &mut Side { control: control.clone(), plugin }, &kinds, change)
        };
        DescribedKind::new(self.name, self.doc, fields, apply, check)
    }
}

impl DraftField {
    fn describe(self, control: &Control) -> Result<DescribedField, ObjectError> {
        let DraftField { name, doc, kind, default, flags } = self;
        let unknown =
            || ObjectError::field(name, format!("there is no type '{kind}'")).remedy("take one of commands' arguments");
        let kind = control.commands().kind(&kind).ok_or_else(unknown)?;
        let has = |flag: u32| flags & flag != 0;
        let occurrence = match (has(abi::FIELD_OPTIONAL), has(abi::FIELD_LIST)) {
            (_, true) => Occurrence::List,
            (true, false) => Occurrence::Optional,
            (false, false) => Occurrence::Once,
        };
        let (key, fixed) = (has(abi::FIELD_KEY), has(abi::FIELD_FIXED));
        Ok(DescribedField { name, doc, kind, occurrence, default, key, fixed })
    }
}

type Kinds = [(&'static str, ArgumentKind)];

fn object<'c>(control: Option<&'c Control>, fields: &'c Kinds, values: &'c Values) -> ObjectData<'c> {
    ObjectData { control, fields, values, texts: Texts::default() }
}

fn crossing(object: &Option<ObjectData<'_>>) -> *const abi::Object {
    object.as_ref().map_or(std::ptr::null(), |object| std::ptr::from_ref(object).cast())
}

fn run_apply(
    apply: Apply,
    user: *mut c_void,
    side: &mut Side,
    kinds: &Kinds,
    change: Change<'_, Values>,
) -> Result<(), ObjectError> {
    let (before, after) = match change {
        Change::Create(new) => (None, Some(new)),
        Change::Update { old, new } => (Some(old), Some(new)),
        Change::Delete(old) => (Some(old), None),
    };
    let control = side.control.clone();
    let [before, after] = [before, after].map(|values| values.map(|values| object(Some(&control), kinds, values)));
    let change = abi::Change { before: crossing(&before), after: crossing(&after) };
    let mut answer = AnswerData::new(&control);
    // SAFETY: the plugin's function, on the control thread; what it is given outlives the call.
    let status = unsafe { apply(user, side.handle(), &change, answer.handle()) };
    answer.outcome(status)
}

fn run_check(check: Check, user: *mut c_void, kinds: &Kinds, values: &Values) -> Result<(), ObjectError> {
    // What the object refers to need not be there yet, so interfaces have no numbers here.
    let object = object(None, kinds, values);
    let mut answer = AnswerData::default();
    // SAFETY: as in `run_apply`.
    let status = unsafe { check(user, std::ptr::from_ref(&object).cast(), answer.handle()) };
    answer.outcome(status)
}

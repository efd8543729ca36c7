//! Answers and refusals of a plugin, and the fields and arguments that it reads.
#![allow(unsafe_code)]

use crate::foreign::{self, guarded};
use crate::value::{self, Texts};
use quiver_control::cli::{ArgumentKind, Cell, CommandError, Matches, Reply, Table};
use quiver_control::{Control, ObjectError};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::{Answer, OK, Status, Text};
use serde_json::{Map, Value};
use std::fmt;

/// Why a plugin refuses.
pub(crate) struct Refusal {
    pub field: String,
    pub what: String,
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = if self.remedy.is_empty() { "" } else { "; " };
        let colon = if self.field.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}{remedy}{}", self.field, self.what, self.remedy)
    }
}

/// Answer of a plugin.
#[derive(Default)]
pub(crate) struct AnswerData {
    /// Finds the names of interfaces in tables.
    pub control: Option<Control>,
    pub text: String,
    /// The fields of a reply.
    pub bytes: Vec<u8>,
    /// The fields of each details message before it.
    pub details: Vec<Vec<u8>>,
    /// Whether the client wants to be told of the message's event, and as which `pid`.
    pub wanted: Option<(u32, bool)>,
    table: Option<Table>,
    pub refusal: Option<Refusal>,
}

impl AnswerData {
    pub fn new(control: &Control) -> AnswerData {
        AnswerData { control: Some(control.clone()), ..AnswerData::default() }
    }
    /// As it crosses.
    pub fn handle(&mut self) -> *mut Answer {
        std::ptr::from_mut(self).cast()
    }
    /// Result of a command.
    pub fn reply(self, status: Status, matches: &Matches) -> Result<Reply, CommandError> {
        match (status, self.refusal, self.table) {
            (OK, _, Some(table)) => Ok(table.into()),
            (OK, _, None) if self.text.is_empty() => Ok(Reply::done()),
            (OK, _, None) => Ok(Reply::text(self.text)),
            (_, Some(Refusal { field, what, remedy }), _) => {
                let error = CommandError::new(if remedy.is_empty() { what } else { format!("{what}; {remedy}") });
                Err(if field.is_empty() { error } else { error.at(matches.place(&field)) })
            }
            (status, None, _) => Err(CommandError::new(format!("the plugin failed with status {status}"))),
        }
    }
    /// Result of a change of an object, or of its check.
    pub fn outcome(self, status: Status) -> Result<(), ObjectError> {
        match (status, self.refusal) {
            (OK, _) => Ok(()),
            (_, Some(Refusal { field, what, remedy })) => Err(ObjectError::field(field, what).remedy(remedy)),
            (status, None) => Err(ObjectError::whole(format!("the plugin failed with status {status}"))),
        }
    }
}

/// An object while a plugin may look at it.
pub(crate) struct ObjectData<'c> {
    pub control: Option<&'c Control>,
    pub fields: &'c [(&'static str, ArgumentKind)],
    pub values: &'c Map<String, Value>,
    pub texts: Texts,
}

/// A command's line while a plugin may look at it.
pub(crate) struct CallData<'c> {
    pub control: &'c Control,
    pub matches: &'c Matches,
    /// Names and types of the grammar's arguments.
    pub arguments: &'c [(String, String)],
    pub texts: Texts,
}

pub(super) unsafe extern "C" fn field(
    object: *const abi::Object,
    name: Text,
    index: u32,
    into: *mut abi::Value,
) -> Status {
    guarded(|| {
        // SAFETY: what the plugin was given, within the call that gave it; its text, and where it wants the value.
        let (object, name, into) = unsafe {
            let object = foreign::shared::<ObjectData<'_>, _>(object)?;
            (object, foreign::text(name), foreign::exclusive::<abi::Value, _>(into)?)
        };
        let (_, kind) = object.fields.iter().find(|(field, _)| *field == name)?;
        let value = match object.values.get(&name)? {
            Value::Array(items) => items.get(index as usize),
            value => (index == 0).then_some(value),
        };
        let crossed = |value| value::to_plugin(object.control, kind, value, &object.texts);
        *into = value.map_or(abi::Value::NONE, crossed);
        Some(OK)
    })
}

pub(super) unsafe extern "C" fn argument(
    call: *const abi::Call,
    name: Text,
    index: u32,
    into: *mut abi::Value,
) -> Status {
    guarded(|| {
        // SAFETY: as in `field`.
        let (call, name, into) = unsafe {
            let call = foreign::shared::<CallData<'_>, _>(call)?;
            (call, foreign::text(name), foreign::exclusive::<abi::Value, _>(into)?)
        };
        let (_, kind) = call.arguments.iter().find(|(argument, _)| *argument == name)?;
        let kind = call.control.commands().kind(kind)?;
        let words = call.matches.all::<String>(&name).ok()?;
        let value = words.get(index as usize).and_then(|word| kind.read_word(word).ok());
        let crossed = |value| value::to_plugin(Some(call.control), &kind, &value, &call.texts);
        *into = value.map_or(abi::Value::NONE, crossed);
        Some(OK)
    })
}

pub(super) unsafe extern "C" fn has_word(call: *const abi::Call, word: Text) -> bool {
    // SAFETY: as in `field`.
    let found = || unsafe { Some(foreign::shared::<CallData<'_>, _>(call)?.matches.has(&foreign::text(word))) };
    guarded(|| found().filter(|has| *has).map(|_| OK)) == OK
}

/// Changes an answer.
///
/// # Safety
/// `answer` is what a plugin was given, within the call that gave it.
unsafe fn answering(answer: *mut Answer, change: impl FnOnce(&mut AnswerData)) {
    guarded(|| {
        // SAFETY: by the caller; such handles are addresses of an `AnswerData`.
        change(unsafe { foreign::exclusive::<AnswerData, _>(answer) }?);
        Some(OK)
    });
}

pub(super) unsafe extern "C" fn answer_text(answer: *mut Answer, text: Text) {
    let add = |answer: &mut AnswerData| {
        // SAFETY: the plugin's text.
        let text = unsafe { foreign::text(text) };
        answer.text.push_str(text.trim_end_matches('\n'));
        answer.text.push('\n');
    };
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

pub(super) unsafe extern "C" fn answer_columns(answer: *mut Answer, titles: *const Text, count: u32) {
    let add = |answer: &mut AnswerData| {
        // SAFETY: the plugin's texts.
        let titles: Vec<_> =
            unsafe { foreign::slice(titles, count as usize).iter().map(|t| foreign::text(*t)).collect() };
        answer.table = Some(Table::new(titles.iter().map(String::as_str)));
    };
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

pub(super) unsafe extern "C" fn answer_row(answer: *mut Answer, cells: *const abi::Value, count: u32) {
    let add = |answer: &mut AnswerData| {
        // SAFETY: the plugin's values.
        let cells = unsafe { foreign::slice(cells, count as usize) };
        // SAFETY: the plugin's texts.
        let cell = |cell| unsafe { value::cell(answer.control.as_ref(), cell) };
        let cells: Vec<Cell> = cells.iter().map(cell).collect();
        answer.table.iter_mut().for_each(|table| table.row(cells.iter().cloned()));
    };
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

pub(super) unsafe extern "C" fn answer_bytes(answer: *mut Answer, bytes: *const u8, length: usize) {
    let add = |answer: &mut AnswerData| {
        // SAFETY: the plugin's bytes.
        answer.bytes.extend_from_slice(unsafe { foreign::slice(bytes, length) });
    };
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

pub(super) unsafe extern "C" fn answer_details(answer: *mut Answer, bytes: *const u8, length: usize) {
    // SAFETY: the plugin's bytes.
    let add = |answer: &mut AnswerData| answer.details.push(unsafe { foreign::slice(bytes, length) }.to_vec());
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

pub(super) unsafe extern "C" fn subscribe(answer: *mut Answer, pid: u32, wanted: bool) {
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, |answer| answer.wanted = Some((pid, wanted))) }
}

pub(super) unsafe extern "C" fn refuse(answer: *mut Answer, field: Text, what: Text, remedy: Text) {
    let add = |answer: &mut AnswerData| {
        // SAFETY: the plugin's texts.
        let [field, what, remedy] = [field, what, remedy].map(|text| unsafe { foreign::text(text) });
        answer.refusal = Some(Refusal { field, what, remedy });
    };
    // SAFETY: the plugin's handle.
    unsafe { answering(answer, add) }
}

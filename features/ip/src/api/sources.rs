//! Messages about sources of routes.

use quiver_compat::api::Adding;
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::Control;

use crate::config::sources::{SourceName, add_source, all, of_number};
use crate::fib::Source;

/// The source with this number. None stands for configuration.
///
/// # Errors
/// If no source that may own routes has the number.
pub(super) fn client(control: &Control, number: u8) -> Result<Option<SourceName>, Refusal> {
    if number == 0 || number == Source::Static.number() {
        return Ok(None);
    }
    match of_number(control, number) {
        Some(name) => Ok(Some(name)),
        None => Err(Refusal::new(
            Retval::INVALID_VALUE,
            format!(
                "src: no source of routes that clients may make has the number {number}; add one with fib_source_add"
            ),
        )),
    }
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, FibSourceAdd { src }| {
        Ok(FibSourceAddReply { id: add_source(control, src.name.0.clone(), src.priority)? })
    });
    file.dump(|control, _: FibSourceDump| {
        let told = |(name, source): (String, Source)| FibSource {
            priority: source.priority(),
            id: source.number(),
            name: name.into(),
        };
        all(control).into_iter().map(move |source| FibSourceDetails { src: told(source) })
    });
}

/// A source of routes.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub(super) struct FibSource {
    pub priority: u8,
    pub id: u8,
    pub name: Text<64>,
}

/// Adds a FIB source with a name and a priority.
#[derive(Message, Clone, Debug)]
#[message(request, reply = FibSourceAddReply)]
pub(super) struct FibSourceAdd {
    pub src: FibSource,
}

/// Id of the FIB source.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct FibSourceAddReply {
    pub id: u8,
}

/// Dumps all FIB sources.
#[derive(Message, Clone, Debug)]
#[message(dump, details = FibSourceDetails)]
pub(super) struct FibSourceDump;

/// Describes one FIB source: its id, name and priority.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct FibSourceDetails {
    pub src: FibSource,
}

//! Finds the streams that a command or a message names.

use quiver_control::Control;
use quiver_control::cli::{CommandError, Matches};

use crate::stream::PgStream;

quiver_control::reference! {
    /// The name of a stream.
    pub struct StreamName(String) in "pg-streams", "the name of a stream";
}

/// The stream that a command names, or all of them.
pub(crate) fn chosen(control: &Control, matches: &Matches) -> Result<Vec<PgStream>, CommandError> {
    let name: Option<StreamName> = matches.find("stream")?;
    Ok(streams(control, name.as_ref().map(|name| name.0.as_str())))
}

/// The stream of a name, or all of them.
pub(crate) fn streams(control: &Control, name: Option<&str>) -> Vec<PgStream> {
    let streams = control.objects().all::<PgStream>();
    let wanted = streams.iter().filter(|stream| name.is_none_or(|name| name == stream.name));
    wanted.map(|stream| PgStream::clone(stream)).collect()
}

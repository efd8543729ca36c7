//! The trace of both directions, and the files it can be saved to.

use std::path::PathBuf;
use std::rc::Rc;

use quiver_control::files::FileError;
use quiver_control::{Control, LocalFuture};

use super::ring::Messages;
use crate::api::FRAME;

/// Where traces are written and read. VPP's users give a name.
pub trait TraceFiles {
    /// The folder in which they are.
    fn folder(&self) -> PathBuf;
    /// Writes a file that is not there yet, and says where it lies.
    fn create(&self, name: &str, content: Vec<u8>) -> LocalFuture<Result<PathBuf, FileError>>;
    /// Reads a file.
    fn read(&self, name: &str) -> LocalFuture<Result<Vec<u8>, FileError>>;
}

/// The recorded messages.
#[derive(Default)]
pub struct Trace {
    /// Messages from clients.
    pub(super) asked: Messages,
    /// Messages to clients.
    pub(super) told: Messages,
    pub(super) files: Option<Rc<dyn TraceFiles>>,
}

impl Trace {
    /// Records a request, if recording is on.
    pub(crate) fn note(&mut self, control: &Control, message: &[u8]) {
        self.asked.note_of(control, message);
    }
    /// Records whole messages to a client, as they go over the socket, if recording is on.
    pub(crate) fn note_told(&mut self, control: &Control, mut output: &[u8]) {
        while self.told.on
            && let Some((header, rest)) = output.split_first_chunk::<FRAME>()
        {
            let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
            let Some((message, rest)) = rest.split_at_checked(length) else { return };
            self.told.note_of(control, message);
            output = rest;
        }
    }
    /// The messages to clients, or those from them.
    pub(super) fn side(&mut self, is_told: bool) -> &mut Messages {
        if is_told { &mut self.told } else { &mut self.asked }
    }
}

//! A plugin's commands.
#![allow(unsafe_code)]

use crate::calls::answer::{AnswerData, CallData};
use crate::calls::side::Side;
use crate::value::Texts;
use quiver_control::cli::Command;
use quiver_plugin_abi as abi;
use std::ffi::c_void;

/// A command as it was asked for.
pub(crate) struct DraftCommand {
    pub grammar: &'static str,
    pub help: &'static str,
    /// Names and types of its arguments, once the grammar has been read.
    pub arguments: Vec<(String, String)>,
    pub user: *mut c_void,
    pub run: unsafe extern "C" fn(*mut c_void, *mut abi::Control, *const abi::Call, *mut abi::Answer) -> abi::Status,
}

impl DraftCommand {
    /// The command, for the plugin of this number.
    pub fn command(self, plugin: usize) -> Command {
        let DraftCommand { grammar, help, arguments, user, run } = self;
        Command::new(grammar, help, move |control, matches| {
            let call = CallData { control, matches, arguments: &arguments, texts: Texts::default() };
            let mut side = Side { control: control.clone(), plugin };
            let mut answer = AnswerData::new(control);
            // SAFETY: the plugin's function, on the control thread; what it is given outlives the call.
            let status = unsafe { run(user, side.handle(), std::ptr::from_ref(&call).cast(), answer.handle()) };
            answer.reply(status, matches)
        })
    }
}

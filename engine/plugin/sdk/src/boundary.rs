//! The boundary to the daemon: no panic crosses it, and no reference that outlives a call.
#![allow(unsafe_code)]

use crate::setup::{Setup, SetupError};
use quiver_plugin_abi as abi;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A plugin's table, as the daemon finds it.
pub struct Table(abi::Plugin);
// SAFETY: the pointers in it are to constants.
unsafe impl Sync for Table {}

type Register = unsafe extern "C" fn(*const abi::Host, *mut abi::Setup) -> abi::Status;

impl Table {
    /// The table of a plugin.
    pub const fn new(name: &'static str, release: &'static str, register: Register) -> Table {
        Table(abi::Plugin {
            magic: abi::MAGIC,
            version: abi::VERSION,
            reserved: 0,
            name: abi::Text::new(name),
            release: abi::Text::new(release),
            built_by: abi::Text::new(crate::exported::BUILT_BY),
            setup: Some(register),
        })
    }
    /// As the daemon takes it.
    pub const fn plugin(&'static self) -> *const abi::Plugin {
        &self.0
    }
}

/// Runs a plugin's `register`.
///
/// # Safety
/// The pointers are the daemon's, valid for the call; the host's for ever.
pub unsafe fn register(
    host: *const abi::Host,
    setup: *mut abi::Setup,
    register: fn(&mut Setup<'_>) -> Result<(), SetupError>,
) -> abi::Status {
    // SAFETY: by the caller.
    let Some(host) = (unsafe { host.as_ref() }) else { return abi::FAILED };
    let mut setup = Setup::new(host, setup);
    let error = match caught(|| register(&mut setup)) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(error)) => error.0,
        Err(panic) => format!("its `register` panicked: {panic}"),
    };
    setup.refuse(&error);
    abi::FAILED
}

/// Runs what a plugin's author wrote; the error is what a panic said.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(said)
}

/// What a panic said. Its payload is forgotten: dropping it could panic again.
fn said(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "it panicked".to_owned(),
    };
    std::mem::forget(payload);
    text
}

/// A text that the daemon gave, for as long as it is valid.
///
/// # Safety
/// The text is the daemon's, valid for `'a`.
pub(crate) unsafe fn text<'a>(text: abi::Text) -> &'a str {
    if text.data.is_null() {
        return "";
    }
    // SAFETY: by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.length) };
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Makes a shared object a plugin: its name, and the function that says what it brings.
#[macro_export]
macro_rules! plugin {
    ($name:literal, $register:path) => {
        /// What the daemon looks for.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C" fn quiver_plugin_entry() -> *const $crate::exported::Plugin {
            unsafe extern "C" fn quiver_plugin_register(
                host: *const $crate::exported::Host,
                setup: *mut $crate::exported::Setup,
            ) -> $crate::exported::Status {
                // SAFETY: the daemon calls it, by the contract.
                unsafe { $crate::exported::register(host, setup, $register) }
            }
            static TABLE: $crate::exported::Table =
                $crate::exported::Table::new($name, env!("CARGO_PKG_VERSION"), quiver_plugin_register);
            TABLE.plugin()
        }
    };
}

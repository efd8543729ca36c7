//! A plugin's table, and the first call from the daemon.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::error::SetupError;
use crate::setup::Setup;
use quiver_plugin_abi as abi;

/// The compiler that built the SDK, and with it the plugin.
pub const BUILT_BY: &str = env!("QUIVER_BUILT_BY");

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
            built_by: abi::Text::new(BUILT_BY),
            setup: Some(register),
        })
    }
    /// The table for the daemon.
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

/// Makes a shared object a plugin: its name, and the function that says what it brings.
#[macro_export]
macro_rules! plugin {
    ($name:literal, $register:path) => {
        /// The function that the daemon calls first.
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

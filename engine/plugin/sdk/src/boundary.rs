//! The boundary to the daemon: no panic crosses it, and no text that outlives a call.
#![allow(unsafe_code)]

use quiver_plugin_abi as abi;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what a plugin's author wrote; the error is what a panic said.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(said)
}

/// The text of a panic. Its payload is leaked: dropping it could panic again.
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

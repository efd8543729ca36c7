//! Reads what plugins point at.
#![allow(unsafe_code)]

use quiver_plugin_abi::{FAILED, Status, Text};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A copy of a text. What is no UTF-8 is replaced; a null pointer is no text.
///
/// # Safety
/// If `data` is not null, `length` bytes from there on can be read, as the contract promises.
pub(crate) unsafe fn text(text: Text) -> String {
    // SAFETY: by the caller.
    let bytes = unsafe { slice(text.data.cast::<u8>(), text.length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The values at an address; none if it is null.
///
/// # Safety
/// If `data` is not null, it is aligned and `length` values from there on can be read for `'a`, as the contract promises.
pub(crate) unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    match data.is_null() || !data.is_aligned() || length > isize::MAX as usize / size_of::<T>().max(1) {
        true => &[],
        // SAFETY: by the caller.
        false => unsafe { std::slice::from_raw_parts(data, length) },
    }
}

/// Reads through an address; none if it is null.
///
/// # Safety
/// If it is not null, it points at a valid value for `'a`, as the contract promises.
pub(crate) unsafe fn shared<'a, T, U>(at: *const U) -> Option<&'a T> {
    let at = at.cast::<T>();
    // SAFETY: by the caller.
    if at.is_aligned() { unsafe { at.as_ref() } } else { None }
}

/// The same, to write.
///
/// # Safety
/// As [`shared`], and nothing else refers to it for `'a`.
pub(crate) unsafe fn exclusive<'a, T, U>(at: *mut U) -> Option<&'a mut T> {
    let at = at.cast::<T>();
    // SAFETY: by the caller.
    if at.is_aligned() { unsafe { at.as_mut() } } else { None }
}

/// Runs a function that a plugin has called. No panic of ours crosses into it.
pub(crate) fn guarded(work: impl FnOnce() -> Option<Status>) -> Status {
    let ended = catch_unwind(AssertUnwindSafe(work));
    ended.ok().flatten().unwrap_or(FAILED)
}

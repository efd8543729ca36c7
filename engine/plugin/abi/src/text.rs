use core::ffi::c_char;

/// A text in UTF-8, without a zero at its end; its bytes are the giver's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    /// Its first byte. May be null if the length is 0.
    pub data: *const c_char,
    /// Its bytes.
    pub length: usize,
}

impl Text {
    /// No text.
    pub const NONE: Text = Text { data: core::ptr::null(), length: 0 };

    /// The text as it crosses; valid for as long as `text` is.
    pub const fn new(text: &str) -> Text {
        Text { data: text.as_ptr().cast(), length: text.len() }
    }
}

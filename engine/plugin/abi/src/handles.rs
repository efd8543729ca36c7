//! Opaque handles.

/// The registrations of a plugin, while they are being collected.
#[repr(C)]
pub struct Setup {
    _opaque: [u8; 0],
}

/// The control side as the plugin may use it, valid until the call that got it returns.
#[repr(C)]
pub struct Control {
    _opaque: [u8; 0],
}

/// A config object, as `field` reads it.
#[repr(C)]
pub struct Object {
    _opaque: [u8; 0],
}

/// The arguments of a command line, as `argument` and `has_word` read them.
#[repr(C)]
pub struct Call {
    _opaque: [u8; 0],
}

/// Where an answer or a refusal is put.
#[repr(C)]
pub struct Answer {
    _opaque: [u8; 0],
}

//! The memif client for C. What each function does is said in `include/quiver_memif.h`; here stands how.
//!
//! No panic crosses the border: it becomes `QUIVER_MEMIF_DEFECT`.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use quiver_memif_client::{
    Client, ClientError, Event, EventKind, InterfaceId, Mode, Packets, QueueError, Role, Secret, Settings,
};

const INVALID: c_int = -1;
const SYSTEM: c_int = -2;
const DISCONNECTED: c_int = -3;
const BROKEN: c_int = -4;
const TOO_LONG: c_int = -5;
const DEFECT: c_int = -6;

/// `quiver_memif`.
pub struct Handle {
    client: Client,
    /// Events that the caller had no room for.
    events: VecDeque<Event>,
    packets: Packets,
    error: CString,
}

/// `quiver_memif_settings`.
#[repr(C)]
pub struct CSettings {
    socket: *const c_char,
    secret: *const c_char,
    name: *const c_char,
    interface: *const c_char,
    id: u32,
    role: u8,
    mode: u8,
    log2_ring_size: u8,
    rx_queues: u16,
    tx_queues: u16,
    buffer: u32,
    retry_ms: u32,
}

/// `quiver_memif_event`.
#[repr(C)]
pub struct CEvent {
    interface: u32,
    what: u32,
    text: [c_char; 160],
}

/// `quiver_memif_packet`.
#[repr(C)]
pub struct CPacket {
    bytes: *const u8,
    length: usize,
}

/// A number for the caller and a sentence for its user.
struct Failure(c_int, String);
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let number = match error {
            ClientError::Settings { .. } | ClientError::InUse { .. } => INVALID,
            ClientError::Socket { .. } | ClientError::System(..) => SYSTEM,
        };
        Failure(number, error.to_string())
    }
}
impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Failure {
        let number = match error {
            QueueError::Disconnected => DISCONNECTED,
            QueueError::Broken(_) => BROKEN,
            QueueError::TooLong { .. } => TOO_LONG,
        };
        Failure(number, error.to_string())
    }
}
fn invalid(what: impl ToString) -> Failure {
    Failure(INVALID, what.to_string())
}
fn no_queue(interface: u32, queue: u16) -> Failure {
    Failure(DISCONNECTED, format!("interface {interface} is not connected, or has no queue {queue}"))
}

/// Calls `body` with what the caller's handle points to.
///
/// # Safety
/// `handle` is null, or comes from [`quiver_memif_new`] and is used by nobody else meanwhile.
unsafe fn with(handle: *mut Handle, body: impl FnOnce(&mut Handle) -> Result<i64, Failure>) -> i64 {
    // SAFETY: as the caller of this function says.
    let Some(handle) = (unsafe { handle.as_mut() }) else { return INVALID.into() };
    let (number, text) = match catch_unwind(AssertUnwindSafe(|| body(handle))) {
        Ok(Ok(value)) => return value,
        Ok(Err(Failure(number, text))) => (number, text),
        Err(_) => (DEFECT, "a defect in quiver_memif; please report it".to_owned()),
    };
    handle.error = CString::new(text.replace('\0', " ")).unwrap_or_default();
    number.into()
}

/// A text of the caller's; None for null.
///
/// # Safety
/// `text` is null or points to a text with a zero at its end, which lives as long as the result.
unsafe fn text<'t>(name: &str, text: *const c_char) -> Result<Option<&'t str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null; the rest as the caller of this function says.
    let text = unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| invalid(format!("{name}: not UTF-8")))?;
    Ok(Some(text))
}

/// # Safety
/// The texts of `given` are null or end with a zero.
unsafe fn settings(given: &CSettings) -> Result<Settings, Failure> {
    // SAFETY: as the caller of this function says, here and below.
    let socket = unsafe { text("socket", given.socket) }?.ok_or_else(|| invalid("socket: NULL; name a socket"))?;
    let socket = socket.parse().map_err(|error| invalid(format!("socket: {error}")))?;
    let mut settings = match given.role {
        0 => Settings::master(socket, given.id),
        1 => Settings::slave(socket, given.id),
        other => return Err(invalid(format!("role: {other} is none; 0 is master, 1 is slave"))),
    };
    debug_assert!(matches!(settings.role, Role::Master | Role::Slave));
    settings.mode = match given.mode {
        0 => Mode::Ethernet,
        1 => Mode::Ip,
        2 => Mode::Punt,
        other => return Err(invalid(format!("mode: {other} is none; 0 is Ethernet, 1 is IP, 2 is punt"))),
    };
    // SAFETY: as above.
    let texts =
        unsafe { (text("secret", given.secret)?, text("name", given.name)?, text("interface", given.interface)?) };
    let (secret, name, interface) = texts;
    if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
        settings.secret = Secret::new(secret).map_err(|error| invalid(format!("secret: {error}")))?;
    }
    settings.name = name.map_or(settings.name, str::to_owned);
    settings.interface = interface.map_or(settings.interface, str::to_owned);
    let or = |given: u32, usual: u32| if given == 0 { usual } else { given };
    settings.log2_ring_size = or(given.log2_ring_size.into(), settings.log2_ring_size.into()) as u8;
    settings.rx_queues = or(given.rx_queues.into(), settings.rx_queues.into()) as u16;
    settings.tx_queues = or(given.tx_queues.into(), settings.tx_queues.into()) as u16;
    settings.buffer = or(given.buffer, settings.buffer);
    if given.retry_ms != 0 {
        settings.retry = Duration::from_millis(given.retry_ms.into());
    }
    Ok(settings)
}

/// See `quiver_memif.h`.
#[unsafe(no_mangle)]
pub extern "C" fn quiver_memif_new() -> *mut Handle {
    let made = catch_unwind(Client::new);
    let Ok(Ok(client)) = made else { return std::ptr::null_mut() };
    let handle = Handle { client, events: VecDeque::new(), packets: Packets::new(), error: CString::default() };
    Box::into_raw(Box::new(handle))
}

/// See `quiver_memif.h`.
///
/// # Safety
/// `handle` is null or comes from [`quiver_memif_new`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_free(handle: *mut Handle) {
    if !handle.is_null() {
        // SAFETY: it was made by Box::into_raw, and the caller gives it up.
        let handle = unsafe { Box::from_raw(handle) };
        // A panic while closing must not go further; there is nobody to tell.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_error(handle: *const Handle) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { handle.as_ref() }.map_or(c"no client".as_ptr(), |handle| handle.error.as_ptr())
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`]; `given` is null or points to settings whose texts are null or end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_open(handle: *mut Handle, given: *const CSettings) -> i64 {
    let open = |handle: &mut Handle| {
        // SAFETY: as the caller says.
        let given = unsafe { given.as_ref() }.ok_or_else(|| invalid("settings: NULL"))?;
        // SAFETY: as the caller says.
        let settings = unsafe { settings(given) }?;
        Ok(handle.client.open(settings)?.0.into())
    };
    // SAFETY: as the caller says.
    unsafe { with(handle, open) }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_close(handle: *mut Handle, interface: u32) -> c_int {
    let close = |handle: &mut Handle| match handle.client.close(InterfaceId(interface)) {
        true => Ok(0),
        false => Err(Failure(DISCONNECTED, format!("there is no interface {interface}"))),
    };
    // SAFETY: as the caller says.
    unsafe { with(handle, close) as c_int }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`]; `events` has room for `max` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_wait(
    handle: *mut Handle,
    timeout_ms: c_int,
    events: *mut CEvent,
    max: usize,
) -> c_int {
    let wait = |handle: &mut Handle| {
        if handle.events.is_empty() {
            let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
            handle.events.extend(handle.client.wait(timeout)?);
        }
        let count = if events.is_null() { 0 } else { max.min(handle.events.len()) };
        for (i, event) in handle.events.drain(..count).enumerate() {
            // SAFETY: there is room for `max` events, and i is less.
            unsafe { events.add(i).write(event.into()) };
        }
        Ok(count as i64)
    };
    // SAFETY: as the caller says.
    unsafe { with(handle, wait) as c_int }
}
impl From<Event> for CEvent {
    fn from(event: Event) -> CEvent {
        let what = if matches!(event.what, EventKind::Connected(_)) { 1 } else { 2 };
        let mut text = [0; 160];
        let words = event.to_string();
        let bytes = words.bytes().filter(|byte| *byte != 0).take(text.len() - 1);
        bytes.zip(&mut text).for_each(|(byte, to)| *to = byte as c_char);
        CEvent { interface: event.interface.0, what, text }
    }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_fd(handle: *const Handle) -> c_int {
    // SAFETY: as the caller says.
    unsafe { handle.as_ref() }.map_or(INVALID, |handle| handle.client.as_fd().as_raw_fd())
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_arm(handle: *mut Handle) -> c_int {
    // SAFETY: as the caller says.
    unsafe { with(handle, |handle| Ok(handle.client.arm().into())) as c_int }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`]; `rx` and `tx` are null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_queues(
    handle: *const Handle,
    interface: u32,
    rx: *mut u16,
    tx: *mut u16,
) -> c_int {
    // SAFETY: as the caller says, here and below.
    let Some(handle) = (unsafe { handle.as_ref() }) else { return INVALID };
    let (receiving, sending) = handle.client.queue_counts(InterfaceId(interface));
    for (to, count) in [(rx, receiving), (tx, sending)] {
        // SAFETY: as above.
        if let Some(to) = unsafe { to.as_mut() } {
            *to = count as u16;
        }
    }
    0
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`]; `packets` has room for `max` packets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_receive(
    handle: *mut Handle,
    interface: u32,
    queue: u16,
    packets: *mut CPacket,
    max: usize,
) -> c_int {
    let receive = |handle: &mut Handle| {
        let rx = handle.client.rx_queue(InterfaceId(interface), queue.into());
        let rx = rx.ok_or_else(|| no_queue(interface, queue))?;
        if packets.is_null() {
            return Err(invalid("packets: NULL"));
        }
        let count = rx.receive(&mut handle.packets, max)?;
        for (i, packet) in handle.packets.iter().enumerate() {
            // SAFETY: there is room for `max` packets, and the client gave no more.
            unsafe { packets.add(i).write(CPacket { bytes: packet.as_ptr(), length: packet.len() }) };
        }
        Ok(count as i64)
    };
    // SAFETY: as the caller says.
    unsafe { with(handle, receive) as c_int }
}

/// See `quiver_memif.h`.
///
/// # Safety
/// As for [`with`]; `packets` are `count` packets, each with so many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quiver_memif_send(
    handle: *mut Handle,
    interface: u32,
    queue: u16,
    packets: *const CPacket,
    count: usize,
) -> c_int {
    let send = |handle: &mut Handle| {
        let tx = handle.client.tx_queue(InterfaceId(interface), queue.into());
        let tx = tx.ok_or_else(|| no_queue(interface, queue))?;
        if packets.is_null() {
            return if count == 0 { Ok(0) } else { Err(invalid("packets: NULL")) };
        }
        // SAFETY: not null; the rest as the caller says.
        let packets = unsafe { std::slice::from_raw_parts(packets, count) };
        if let Some(index) = packets.iter().position(|packet| packet.bytes.is_null()) {
            return Err(invalid(format!("packet {index}: NULL")));
        }
        // SAFETY: not null; the rest as the caller says.
        let bytes = packets.iter().map(|packet| unsafe { std::slice::from_raw_parts(packet.bytes, packet.length) });
        Ok(tx.send(bytes)? as i64)
    };
    // SAFETY: as the caller says.
    unsafe { with(handle, send) as c_int }
}

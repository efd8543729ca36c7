//! Keeps this process alive when a peer truncates shared memory.
//!
//! A page of a file that is no longer so long raises SIGBUS when it is touched. Memory with the shrink seal cannot be
//! truncated, and most peers seal it; for the rest, and for huge pages, which may run out, the signal is answered: the
//! region that was touched is replaced by zeros and marked lost, and whoever touched it goes on.
//!
//! A signal has one handler in a process, so this is the one place with state of the process's own. The handler only
//! reads the table, maps memory and sets a flag, all of which a handler may do. Signals that concern no region go to
//! whoever handled them before.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Regions under guard at once.
const PLACES: usize = 1024;

struct Place {
    taken: AtomicBool,
    /// The first address; zero while there is nothing.
    start: AtomicUsize,
    length: AtomicUsize,
    lost: AtomicBool,
}
#[allow(clippy::declare_interior_mutable_const)]
const FREE: Place = Place {
    taken: AtomicBool::new(false),
    start: AtomicUsize::new(0),
    length: AtomicUsize::new(0),
    lost: AtomicBool::new(false),
};
static TABLE: [Place; PLACES] = [FREE; PLACES];

/// The signal's action before ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A mapping under guard, until this is dropped.
pub(crate) struct Guarded(&'static Place);

impl Guarded {
    /// Guards whole pages. None if there is no place left, or the system refuses the handler.
    ///
    /// # Safety
    /// The range is a mapping of the caller's, which may be replaced by zeros at any time until the guard is dropped,
    /// and is unmapped only after that.
    pub unsafe fn new(start: *mut u8, length: usize) -> Option<Guarded> {
        if !install() {
            return None;
        }
        let free = |place: &&Place| !place.taken.swap(true, Ordering::AcqRel);
        let place = TABLE.iter().find(free)?;
        place.lost.store(false, Ordering::Relaxed);
        place.length.store(length, Ordering::Release);
        place.start.store(start.expose_provenance(), Ordering::Release);
        Some(Guarded(place))
    }
    /// Whether the memory behind the mapping is gone.
    pub fn is_lost(&self) -> bool {
        self.0.lost.load(Ordering::Relaxed)
    }
}
impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
        self.0.taken.store(false, Ordering::Release);
    }
}

fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the action only, which the kernel writes whole.
        let known = unsafe { libc::sigaction(libc::SIGBUS, null(), before.as_mut_ptr()) == 0 };
        if !known {
            return false;
        }
        // SAFETY: it was written just now.
        BEFORE.get_or_init(|| unsafe { before.assume_init() });
        // SAFETY: zeros are a valid action, whose fields are then set.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as extern "C" fn(_, _, _) as usize;
        // Not masked while it runs, so that a fault of the one that handled it before is not fatal in silence.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
        // SAFETY: the handler obeys the rules for handlers, see there.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) == 0 }
    })
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a valid siginfo; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    for place in &TABLE {
        let start = place.start.load(Ordering::Acquire);
        let length = place.length.load(Ordering::Acquire);
        // Another region may have got this place meanwhile: then the two are not of one mapping.
        let is_one = place.start.load(Ordering::Relaxed) == start;
        if start != 0 && is_one && (start..start + length).contains(&address) {
            let (zeros, fixed) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_FIXED);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
            let at = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: `Guarded::new`'s caller lets this mapping be replaced; the thread that touched it holds the region,
            // so that it is not unmapped meanwhile. `mmap` is a bare system call, and errno is put back.
            unsafe {
                let errno = *libc::__errno_location();
                let mapped = libc::mmap(at, length, zeros, flags, -1, 0);
                *libc::__errno_location() = errno;
                if mapped != libc::MAP_FAILED {
                    place.lost.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    }
    pass_on(signal, info, context);
}

/// Does what the previous action would have done.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    let (handler, flags) = (before.sa_sigaction, before.sa_flags);
    if handler == libc::SIG_IGN {
        return;
    }
    if handler == libc::SIG_DFL {
        // SAFETY: puts back what was there; the instruction then faults again, and the process ends as it would have.
        unsafe { libc::sigaction(signal, before, null_mut()) };
        return;
    }
    // SAFETY: the address is that of a handler which the process had installed, of the kind that its flags say.
    unsafe {
        if flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}

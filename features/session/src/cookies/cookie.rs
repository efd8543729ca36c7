//! Cookies: initial sequence numbers that say what a client's SYN said (RFC 4987, 3.6).
//!
//! The upper 24 bits are SipHash-2-4, with a secret of this daemon, of both ends, the tenant's context, the client's initial number, the time
//! slot and the lower 8 bits. The lower 8 bits are what of the SYN's options survives: 3 bits for the MSS, 4 for the shift of windows, 1 for
//! selective acknowledgments. Timestamps do not survive, so they are not offered.

use std::hash::Hasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use quiver_wire::options::Options;

use crate::key::Key;

/// Maximum segment sizes that a cookie can say, in ascending order.
pub(crate) const SIZES: [u16; 8] = [536, 1220, 1300, 1360, 1400, 1440, 1460, 8940];
/// Shift of windows that says there is none.
const NO_SCALE: u8 = 15;
/// Highest shift of a window (RFC 7323, 2.3).
pub(crate) const SCALE_MAX: u8 = 14;
/// Seconds of a time slot. A cookie is valid until the end of the next slot.
pub(crate) const SLOT_SECONDS: u32 = 32;

/// Kinds of TCP options: RFC 9293, 3.2; RFC 7323, 2.2; RFC 2018, 2.
pub(crate) const MSS: u8 = 2;
pub(crate) const WINDOW_SCALE: u8 = 3;
pub(crate) const SACK_PERMITTED: u8 = 4;

/// The options of a client's SYN, as far as a cookie keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Maximum segment size: one of [`SIZES`].
    pub mss: u16,
    /// Shift of windows, 14 at most.
    pub scale: Option<u8>,
    /// Whether selective acknowledgments are permitted.
    pub sack: bool,
}

impl Offer {
    /// The offer of a SYN with these options. Sizes are rounded down; those below the smallest one count as that.
    pub fn of(options: &[u8], is_ip6: bool) -> Offer {
        // RFC 9293, 3.7.1: the defaults.
        let mut offer = Offer { mss: if is_ip6 { 1220 } else { 536 }, scale: None, sack: false };
        for option in Options::new(options).map_while(Result::ok) {
            match (option.kind, option.data) {
                (MSS, [high, low]) => offer.mss = rounded(u16::from_be_bytes([*high, *low])),
                (WINDOW_SCALE, [scale]) => offer.scale = Some((*scale).min(SCALE_MAX)),
                (SACK_PERMITTED, []) => offer.sack = true,
                _ => {}
            }
        }
        offer
    }
    /// The offer that a cookie says.
    pub fn of_cookie(cookie: u32) -> Offer {
        let scale = (cookie >> 1) as u8 & 0xf;
        Offer {
            mss: SIZES[(cookie >> 5) as usize & 7],
            scale: Some(scale).filter(|scale| *scale <= SCALE_MAX),
            sack: cookie & 1 != 0,
        }
    }
    fn bits(self) -> u8 {
        let size = SIZES.iter().rposition(|size| *size <= self.mss).unwrap_or_default() as u8;
        size << 5 | self.scale.unwrap_or(NO_SCALE) << 1 | u8::from(self.sack)
    }
}

/// The largest size that a cookie can say and that is no larger.
fn rounded(mss: u16) -> u16 {
    SIZES.into_iter().rfind(|size| *size <= mss).unwrap_or(SIZES[0])
}

/// A client's SYN, as a cookie covers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening<'a> {
    /// Both ends and the context.
    pub key: &'a Key,
    /// Whether the client is the higher end.
    pub is_from_high: bool,
    /// The client's initial sequence number.
    pub initial: u32,
}

/// The secret of this daemon's cookies, and whether there are any.
#[derive(Default)]
pub(crate) struct Cookies {
    secret: OnceLock<[u64; 2]>,
    /// The time slot of the last cookie, plus one; 0 if there was none.
    last: AtomicU32,
}

impl Cookies {
    /// Sets the secret, once.
    pub fn set_secret(&self, secret: impl FnOnce() -> [u64; 2]) {
        self.secret.get_or_init(secret);
    }
    /// The cookie that answers a SYN in a time slot. None without a secret.
    pub fn make(&self, opening: &Opening<'_>, slot: u32, offer: Offer) -> Option<u32> {
        let bits = offer.bits();
        let cookie = self.of_slot(opening, slot, bits)?;
        // PERF: the line is written once in a slot, and read otherwise.
        if self.last.load(Relaxed) != slot + 1 {
            self.last.store(slot + 1, Relaxed);
        }
        Some(cookie)
    }
    /// Whether a cookie may be valid in a slot, because one was sent in it or in the last one.
    pub fn may_come(&self, slot: u32) -> bool {
        let last = self.last.load(Relaxed);
        last != 0 && (slot + 1).wrapping_sub(last) <= 1
    }
    /// The offer of a cookie that a client returns in a slot. None if it is another client's, too old, or none.
    pub fn check(&self, opening: &Opening<'_>, slot: u32, cookie: u32) -> Option<Offer> {
        let is_of = |slot| self.of_slot(opening, slot, cookie as u8) == Some(cookie);
        (is_of(slot) || is_of(slot.wrapping_sub(1))).then(|| Offer::of_cookie(cookie))
    }
    fn of_slot(&self, opening: &Opening<'_>, slot: u32, bits: u8) -> Option<u32> {
        let [first, second] = *self.secret.get()?;
        #[expect(deprecated, reason = "the standard library's successor has no keys that workers can share")]
        let mut hash = std::hash::SipHasher::new_with_keys(first, second);
        let key = opening.key;
        let of = u64::from(opening.is_from_high) << 63 | key.kind() << 8 | u64::from(bits);
        for word in key.address_words().iter().chain(&[key.ports_word(), of]) {
            hash.write_u64(*word);
        }
        hash.write_u64(u64::from(opening.initial) << 32 | u64::from(slot));
        Some((hash.finish() as u32) << 8 | u32::from(bits))
    }
}

#[cfg(test)]
mod tests;

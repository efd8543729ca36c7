use super::*;
use crate::key::{End, Format};
use quiver_wire::IpProtocol;

fn cookies() -> Cookies {
    let cookies = Cookies::default();
    cookies.set_secret(|| [1, 2]);
    cookies
}

fn key(client: u128, port: u16, context: u32, format: Format) -> (Key, bool) {
    let (client, server) = (End { address: client, port }, End { address: 9, port: 80 });
    Key::new((client, server), context, (IpProtocol::TCP, format))
}

#[test]
fn options_of_a_syn_survive_as_far_as_said() {
    let cases: [(&[u8], bool, Offer); 7] = [
        (&[], false, Offer { mss: 536, scale: None, sack: false }),
        (&[], true, Offer { mss: 1220, scale: None, sack: false }),
        (&[2, 4, 5, 180, 4, 2, 1, 3, 3, 7], false, Offer { mss: 1460, scale: Some(7), sack: true }),
        // Timestamps do not; sizes are rounded down.
        (&[2, 4, 5, 179, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0], true, Offer { mss: 1440, scale: None, sack: false }),
        (&[2, 4, 0, 10], false, Offer { mss: 536, scale: None, sack: false }),
        (&[3, 3, 200, 0], false, Offer { mss: 536, scale: Some(14), sack: false }),
        // What is malformed ends the walk.
        (&[4, 2, 3, 2, 7, 2, 4, 5, 180], false, Offer { mss: 536, scale: None, sack: true }),
    ];
    for (options, is_ip6, offer) in cases {
        assert_eq!(Offer::of(options, is_ip6), offer, "{options:?}");
    }
    for mss in SIZES {
        for scale in (0..=SCALE_MAX).map(Some).chain([None]) {
            for sack in [false, true] {
                let offer = Offer { mss, scale, sack };
                assert_eq!(Offer::of_cookie(offer.bits().into()), offer);
            }
        }
    }
}

#[test]
fn a_cookie_is_valid_for_its_client_in_two_slots_and_for_no_other() {
    let (cookies, offer) = (cookies(), Offer { mss: 1460, scale: Some(7), sack: true });
    for format in [Format::IP4, Format::IP6] {
        let (key_of, is_from_high) = key(7, 1000, 5, format);
        let opening = Opening { key: &key_of, is_from_high, initial: 77 };
        let now = 10;
        let cookie = cookies.make(&opening, now, offer).expect("there is a secret");
        for (slot, is_valid) in [(9, false), (10, true), (11, true), (12, false)] {
            assert_eq!(cookies.check(&opening, slot, cookie), Some(offer).filter(|_| is_valid), "{slot}");
        }
        for other in [
            (7, 1001, 5, format),
            (8, 1000, 5, format),
            (7, 1000, 6, format),
            (7, 1000, 5, Format::of(3).expect("it is one")),
        ] {
            let (other_key, is_from_high) = key(other.0, other.1, other.2, other.3);
            let other_opening = Opening { key: &other_key, is_from_high, initial: 77 };
            assert_eq!(cookies.check(&other_opening, now, cookie), None, "{other:?}");
        }
        for other in [
            Opening { initial: 78, ..opening },
            Opening { initial: 76, ..opening },
            Opening { is_from_high: !is_from_high, ..opening },
        ] {
            assert_eq!(cookies.check(&other, now, cookie), None, "{other:?}");
        }
    }
}

/// A cookie with a changed bit, also of the options, is refused; a guess succeeds about twice in 2^24, for there are two slots.
#[test]
fn changed_and_guessed_cookies_are_refused() {
    let (cookies, mut random) = (cookies(), fastrand::Rng::with_seed(1));
    let (mut guessed, mut tries) = (0, 0);
    for _ in 0..2000 {
        let (key, is_from_high) = key(random.u32(..).into(), random.u16(..), random.u32(..4), Format::IP4);
        let opening = Opening { key: &key, is_from_high, initial: random.u32(..) };
        let bits = random.u8(..);
        let offer = Offer::of_cookie(bits.into());
        let cookie = cookies.make(&opening, 0, offer).expect("there is a secret");
        assert_eq!(cookies.check(&opening, 1, cookie), Some(offer));
        for bit in 0..32 {
            guessed += u32::from(cookies.check(&opening, 0, cookie ^ 1 << bit).is_some());
        }
        for _ in 0..100 {
            guessed += u32::from(cookies.check(&opening, 0, random.u32(..)).is_some());
        }
        tries += 132;
    }
    // 264,000 tries: the expected number of successes is 0.03.
    assert!(tries > 250_000 && guessed <= 1, "{guessed} of {tries}");
}

#[test]
fn secrets_differ_and_without_one_there_are_no_cookies() {
    let (key, is_from_high) = key(7, 1000, 5, Format::IP4);
    let opening = Opening { key: &key, is_from_high, initial: 1 };
    let offer = Offer { mss: 536, scale: None, sack: false };
    let (one, other) = (cookies(), Cookies::default());
    assert_eq!((other.make(&opening, 0, offer), other.may_come(0)), (None, false));
    other.set_secret(|| [1, 3]);
    assert!(!one.may_come(0));
    let cookie = one.make(&opening, 5, offer).expect("there is a secret");
    assert_eq!(other.check(&opening, 5, cookie), None);
    let come = [4, 5, 6, 7].map(|slot| one.may_come(slot));
    assert_eq!(come, [false, true, true, false]);
    assert!(!other.may_come(5));
}

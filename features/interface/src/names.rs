//! Names of interfaces: those that people choose, and those of a prefix and a number.

use quiver_control::ObjectError;

/// Bytes of a chosen name at most. VPP's messages have room for 63; sub-interfaces add a dot and a number.
pub const NAME_MAX: usize = 40;

/// Checks a name that a person chose: a letter, then letters, digits, `-` and `_`.
///
/// # Errors
/// Naming the field `name`, with `example` in the remedy.
pub fn check_name(name: &str, example: &str) -> Result<(), ObjectError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let starts_well = name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    if starts_well && name.len() <= NAME_MAX && name.bytes().all(fits) {
        return Ok(());
    }
    let remedy = format!("a letter, then letters, digits, - and _, up to {NAME_MAX} in all, such as {example} or wan");
    Err(ObjectError::field("name", format!("'{name}' is no name of an interface")).remedy(remedy))
}

/// The number behind a prefix, as names that Quiver gives have it: without leading zeros. None for any other name.
pub fn number_in(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
}

/// A hash of a text that stays the same across programs and versions (FNV-1a, with its upper half folded in): for addresses
/// that are made of names.
pub fn hash_of(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    hash ^ hash << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_names_have_letters_digits_and_dashes() {
        let long = "w".repeat(NAME_MAX);
        for name in ["wan", "W", "to-isp_2", "tap01", &long] {
            assert_eq!(check_name(name, "tap0"), Ok(()), "{name}");
        }
        for name in ["", "2wan", "-wan", "wan.10", "wan/1", "wan lan", "wän", &format!("{long}w")] {
            let error = check_name(name, "tap0").expect_err(name);
            assert_eq!(error.field, "name");
            assert!(error.remedy.contains("tap0"), "{error}");
        }
    }

    #[test]
    fn numbers_have_one_spelling() {
        assert_eq!(number_in("tap0", "tap"), Some(0));
        assert_eq!(number_in("tap4294967295", "tap"), Some(u32::MAX));
        let wrong = ["tap", "tap01", "tap+1", "tap-1", "loop0", "tap4294967296", "tap0.1"];
        assert_eq!(wrong.map(|name| number_in(name, "tap")), [None; 7]);
    }
}

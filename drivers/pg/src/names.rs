//! Names of generators' interfaces, and the addresses that follow from them.

use quiver_control::ObjectError;
use quiver_wire::MacAddress;

/// Refuses what is no name for an interface; `example` is one.
///
/// # Errors
/// The field `name`, what is wrong, and the remedy.
pub fn check(name: &str, example: &str) -> Result<(), ObjectError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if name.is_empty() || name.len() > 63 || !name.chars().all(fits) {
        return Err(ObjectError::field("name", format!("'{name}' is no name for an interface"))
            .remedy(format!("use up to 63 letters, digits and - _ . /, such as {example}")));
    }
    Ok(())
}

/// A locally administered address that follows from the name, so that tests can state it: 02:fe, two letters, and the number in the
/// name.
pub fn address_of(letters: [u8; 2], name: &str) -> MacAddress {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let [high, low] = name[name.len() - digits..].parse::<u16>().unwrap_or(u16::MAX).to_be_bytes();
    MacAddress([0x02, 0xfe, letters[0], letters[1], high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_from_names() {
        assert_eq!(address_of(*b"pg", "pg0").to_string(), "02:fe:70:67:00:00");
        assert_eq!(address_of(*b"pg", "pg258").to_string(), "02:fe:70:67:01:02");
        assert_eq!(address_of(*b"pg", "generator").to_string(), "02:fe:70:67:ff:ff");
    }
}

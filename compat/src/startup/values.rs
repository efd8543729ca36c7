//! Values as VPP writes them.

/// Bytes: `64M`, `2g`, `1024`. Nothing if it is none of these.
pub fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// No machine has a core of a higher number.
const CORE_MAX: usize = 8191;

/// Cores: `2-3,18-19`, each once.
pub(super) fn cores(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse().ok().filter(|core| *core <= CORE_MAX);
    let mut cores = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        cores.extend((first..=last).filter(|core| !cores.contains(core)).collect::<Vec<_>>());
    }
    Some(cores)
}

/// The cores of a mask in hexadecimal digits.
pub(super) fn mask(text: &str) -> Option<Vec<usize>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > (CORE_MAX + 1) / 4 {
        return None;
    }
    let mut cores = Vec::new();
    for (index, digit) in digits.chars().rev().enumerate() {
        let digit = digit.to_digit(16)?;
        cores.extend((0..4).filter(|bit| digit & (1 << bit) != 0).map(|bit| index * 4 + bit));
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_vpp_does() {
        assert_eq!(
            ["64M", "2g", "7", "3k", "x", "M", "7T"].map(size),
            [Some(64 << 20), Some(2 << 30), Some(7), Some(3072), None, None, None]
        );
        assert_eq!(cores("2-3,18-19,3"), Some(vec![2, 3, 18, 19]));
        assert_eq!(["", "1,", "a", "2-1", "9999"].map(cores), [const { None }; 5]);
        assert_eq!(
            (mask("0x6"), mask("f0"), mask(""), mask("0xg")),
            (Some(vec![1, 2]), Some(vec![4, 5, 6, 7]), None, None)
        );
    }
}

//! The options of IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1), which share one form: a kind, or kind, length and data.

/// The end of the options; what follows is padding.
pub const END: u8 = 0;
/// One byte of filling.
pub const NO_OPERATION: u8 = 1;

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionField<'a> {
    /// Type of the option.
    pub kind: u8,
    /// Where its kind byte lies among the options.
    pub offset: usize,
    /// Data behind type and length.
    pub data: &'a [u8],
}

/// The options run out of their room, or one claims less than its own two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the option at byte {offset} has a length that does not fit")]
pub struct MalformedOption {
    /// Where the option lies among the options.
    pub offset: usize,
}

/// Goes through the options; filling is passed over, and the first malformed one ends the walk.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Options<'a> {
    /// The options in `bytes`, which lie between the fixed header and the payload.
    pub fn new(bytes: &'a [u8]) -> Options<'a> {
        Options { bytes, offset: 0 }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<OptionField<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.bytes.get(self.offset..)?;
            let offset = self.offset;
            match *rest {
                [] | [END, ..] => return None,
                [NO_OPERATION, ..] => self.offset += 1,
                [kind, length, ..] if length >= 2 && usize::from(length) <= rest.len() => {
                    let data = rest.get(2..usize::from(length))?;
                    self.offset += usize::from(length);
                    return Some(Ok(OptionField { kind, offset, data }));
                }
                _ => {
                    self.offset = self.bytes.len();
                    return Some(Err(MalformedOption { offset }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_walked_until_their_end() {
        let mut options = Options::new(&[1, 7, 4, 4, 9, 1, 148, 2, 0, 7, 7]);
        assert_eq!(options.next(), Some(Ok(OptionField { kind: 7, offset: 1, data: &[4, 9] })));
        assert_eq!(options.next(), Some(Ok(OptionField { kind: 148, offset: 6, data: &[] })));
        assert_eq!(options.next(), None);
    }

    #[test]
    fn a_malformed_option_ends_the_walk() {
        for (bytes, offset) in [(&[7, 4, 4][..], 0), (&[1, 7, 1, 7], 1), (&[7, 0, 0, 0], 0), (&[1, 1, 7], 2)] {
            let walk: Vec<_> = Options::new(bytes).collect();
            assert_eq!(walk, [Err(MalformedOption { offset })], "{bytes:?}");
        }
    }
}

//! Encodes values as lines of JSON.

use std::cell::RefCell;

use serde::Serialize;

/// Bytes that are kept for the next line, at most.
const KEPT_MAX: usize = 256 << 10;

thread_local! {
    /// The line that is being written. PERF: one that grew from nothing would be moved each time that it doubles.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A value as a line: of texts, numbers and JSON values, which cannot fail to be written.
pub fn line_of(value: &impl Serialize) -> Vec<u8> {
    LINE.with_borrow_mut(|line| {
        line.clear();
        if serde_json::to_writer(&mut *line, value).is_err() {
            line.clear();
        }
        line.push(b'\n');
        if line.capacity() > KEPT_MAX { std::mem::take(line) } else { line.as_slice().to_vec() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_are_whole_and_little_memory_stays() {
        for length in [KEPT_MAX * 2, 3, 0, KEPT_MAX - 3, KEPT_MAX - 2] {
            let text = "x".repeat(length);
            assert_eq!(String::from_utf8(line_of(&text)), Ok(format!("\"{text}\"\n")));
            assert!(LINE.with_borrow(Vec::capacity) <= KEPT_MAX);
        }
    }
}

//! Answers that do not fit the terminal go through a pager: `QUIVER_PAGER`, `PAGER` or `less`.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use console::Term;

use crate::interrupt::Interrupt;

/// The exit status of a shell that did not find the command.
const NOT_FOUND: i32 = 127;

/// Shows a text by the pager if it does not fit the terminal. Returns whether it was shown. An empty variable disables the pager.
pub fn page(text: &str) -> bool {
    let Some((height, width)) = Term::stdout().size_checked() else { return false };
    if fits(text, height.into(), width.into()) {
        return false;
    }
    let told = ["QUIVER_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let started = match told.as_deref().map(str::trim) {
        Some("") => return false,
        Some(command) => start(Command::new("sh").arg("-c").arg(command)),
        // Colors, no wrapped lines, and the text stays on the terminal.
        None => start(Command::new("less").env("LESS", std::env::var("LESS").unwrap_or_else(|_| "RSX".into()))),
    };
    let Ok(mut pager) = started else { return false };
    // Ctrl-C is the pager's while it runs.
    let _interrupt = Interrupt::catch();
    if let Some(mut input) = pager.stdin.take() {
        // A reader may leave before the end.
        let _ = input.write_all(text.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    pager.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::piped()).spawn()
}

/// Whether a text, and a prompt below it, fit. A terminal that does not tell its size fits all.
fn fits(text: &str, height: usize, width: usize) -> bool {
    height == 0
        || width == 0
        || (text.lines().count() < height && text.lines().all(|line| line.chars().count() <= width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_or_too_wide_does_not_fit() {
        assert!(fits("a\nb", 3, 80) && !fits("a\nb\nc", 3, 80));
        assert!(fits(&"é".repeat(80), 24, 80) && !fits(&"a".repeat(81), 24, 80));
        assert!(fits(&"a\n".repeat(100), 0, 0));
    }
}

//! Output of the command line programs: answers on standard output, everything else on standard error. A closed reader
//! never makes a program panic.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

use owo_colors::{OwoColorize, Stream};

/// Prints a line, or several, on standard output. A reader that went away (`| head`) ends the program quietly.
pub fn print(text: impl Display) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints a line, or several, on standard error. The program goes on where nobody reads it.
pub fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints on standard error what a person has to know before reading on.
pub fn warning(text: impl Display) {
    let text = format!("warning: {text}");
    say(text.if_supports_color(Stream::Stderr, |text| text.yellow()));
}

/// Prints an error of the program itself on standard error.
pub fn error(program: &str, error: &dyn Error) {
    say(format_args!("{program}: {error}"));
}

//! Progress of the demo on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::show;

/// The progress display.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts a display for so many paths.
    pub fn new(paths: usize) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(paths as u64);
            let style = ProgressStyle::with_template("{spinner} [{bar:20}] {wide_msg}").expect("the template is valid");
            bar.set_style(style.progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { bar }
    }

    /// Shows the next step on the current path.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => show::say(text),
        }
    }

    /// Counts one path as measured.
    pub fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Takes the display away.
    pub fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! The progress of `quiver lab run`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use quiver_search::{Load, Progress};
use quiver_terminal::{print, say};

/// Where there is no terminal, progress is told first after this time, so that a search is seen to have begun,
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// and then so often.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Columns in front of each line of the progress on a terminal: the spinner, or as much space.
const MARGIN: usize = 2;

/// Where the lines of results go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// On standard output.
    Printed,
    /// On standard error: standard output has documents or JSON.
    Said,
}

/// Progress on standard error: two lines that stay where they are on a terminal, lines elsewhere.
pub struct Display {
    /// With the number of the case and of all.
    bar: Option<ProgressBar>,
    terminal: Term,
    results: Results,
    /// When progress is to be told next.
    due: Cell<Instant>,
}

impl Display {
    /// A display of a number of cases.
    pub fn new(cases: usize, results: Results) -> Display {
        let terminal = Term::stderr();
        let bar = terminal.is_term().then(|| {
            let bar = ProgressBar::new(cases as u64);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}\n  {prefix}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Display { bar, terminal, results, due: Cell::new(Instant::now()) }
    }

    /// A case begins, of which nothing is known.
    pub fn begin(&self, name: &str) {
        self.due.set(Instant::now() + TOLD_AFTER);
        match &self.bar {
            Some(bar) => self.draw(bar, name, &Progress::default()),
            None => say(format_args!("{name} ...")),
        }
    }

    /// Bounds, and time to go.
    pub fn show(&self, name: &str, progress: &Progress) {
        match &self.bar {
            Some(bar) => self.draw(bar, name, progress),
            None if self.due.get() <= Instant::now() => {
                self.due.set(Instant::now() + TOLD_EVERY);
                let [case, search] = text_of(name, progress, usize::MAX);
                say(format_args!("{case}, {search}"));
            }
            None => {}
        }
    }

    /// The terminal may have another width each time.
    fn draw(&self, bar: &ProgressBar, name: &str, progress: &Progress) {
        let width = usize::from(self.terminal.size().1).saturating_sub(MARGIN);
        let place = format!("{}/{} ", bar.position() + 1, bar.length().unwrap_or(0));
        let [case, search] = text_of(name, progress, width.saturating_sub(place.len()));
        bar.set_prefix(fit(&search, width));
        bar.set_message(fit(&format!("{place}{case}"), width));
    }

    /// A line on standard error that stays, above the progress.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }

    /// A line of results.
    pub fn result(&self, line: &str) {
        match (self.results, &self.bar) {
            (Results::Said, _) => self.say(line),
            (Results::Printed, Some(bar)) => bar.suspend(|| print(line)),
            (Results::Printed, None) => print(line),
        }
    }

    /// A case is done.
    pub fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// All are.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Case and trial; bounds and time to go: each in so many columns at most. Of a long name the middle is left out, since its ends
/// tell the frame and the search; of bounds and time to go the words are, and then the bounds.
fn text_of(name: &str, progress: &Progress, width: usize) -> [String; 2] {
    let trials = match progress.trials {
        0 => ": starting".to_owned(),
        1 => ": 1 trial".to_owned(),
        trials => format!(": {trials} trials"),
    };
    let room = width.saturating_sub(trials.len());
    let length = name.chars().count();
    let case = if length <= room {
        format!("{name}{trials}")
    } else {
        let (front, back) = (room.saturating_sub(1).div_ceil(2), room.saturating_sub(1) / 2);
        let front: String = name.chars().take(front).collect();
        let back: String = name.chars().skip(length - back).collect();
        format!("{front}…{back}{trials}")
    };
    let [long, short] = ["about ", ""].map(|about| {
        progress.remaining.map_or_else(
            || "time to go unknown".to_owned(),
            |time| format!("{about}{:.0} s to go", time.seconds().ceil()),
        )
    });
    let bounds = |name_ends: &str, to: &str, places: usize| {
        let load = |load: Option<Load>| load.map_or("?".into(), |load| format!("{:.places$}", load.pps() / 1e6));
        let each = progress
            .bounds
            .iter()
            .map(|bounds| format!("{}{name_ends}{}{to}{}", bounds.name, load(bounds.lower), load(bounds.upper)));
        each.collect::<Vec<_>>().join(", ")
    };
    let texts = match progress.bounds.is_empty() {
        true => vec![long, short],
        false => vec![
            format!("{} Mpps each way, {long}", bounds(" ", " to ", 3)),
            format!("{} Mpps, {short}", bounds(" ", "-", 3)),
            format!("{}, {short}", bounds(" ", "-", 1)),
            short,
        ],
    };
    let search = texts.iter().find(|text| text.chars().count() <= width).or(texts.last());
    [case, search.cloned().unwrap_or_default()].map(|line| fit(&line, width))
}

/// Cuts a line to the width.
fn fit(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use quiver_search::{Bounds, Seconds};

    use super::*;

    const NAME: &str = "9000b-16c-1n1l-memif-dot1q-ethip4-ip4base-udpprofile-quiver-ndrpdr";

    fn progress() -> Progress {
        let load = |pps| Some(Load::new(pps).expect("a load"));
        let bounds = |name: &str, lower, upper| Bounds { name: name.into(), lower, upper };
        let bounds = vec![bounds("NDR", load(14.8812e6), load(14.9e6)), bounds("PDR", load(14.9e6), None)];
        let seconds = |number| Seconds::new(number).expect("a time");
        Progress { trials: 17, spent: seconds(9.0), remaining: Some(seconds(1233.2)), bounds }
    }

    #[test]
    fn two_lines_tell_trial_bounds_and_time_to_go() {
        let lines = |width| text_of("64b-1c-l2xc-ndrpdr", &progress(), width);
        let case = "64b-1c-l2xc-ndrpdr: 17 trials";
        assert_eq!(
            lines(usize::MAX),
            [case, "NDR 14.881 to 14.900, PDR 14.900 to ? Mpps each way, about 1234 s to go"]
        );
        assert_eq!(lines(60), [case, "NDR 14.881-14.900, PDR 14.900-? Mpps, 1234 s to go"]);
        assert_eq!(lines(45), [case, "NDR 14.9-14.9, PDR 14.9-?, 1234 s to go"]);
        assert_eq!(lines(29), [case, "1234 s to go"]);
        assert_eq!(lines(24), ["64b-1c…ndrpdr: 17 trials", "1234 s to go"]);
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        let [case, _] = text_of(NAME, &progress(), 40);
        assert_eq!(case, "9000b-16c-1n1l…-quiver-ndrpdr: 17 trials");
    }

    #[test]
    fn what_is_not_known_is_not_invented() {
        assert_eq!(text_of("a", &Progress::default(), 80), ["a: starting", "time to go unknown"]);
        let one = Progress { trials: 1, ..Progress::default() };
        assert_eq!(text_of("a", &one, 80)[0], "a: 1 trial");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for progress in [progress(), Progress::default()] {
            for width in 0..200 {
                for line in text_of(NAME, &progress, width) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }
}

//! Estimates the duration of a run, prints it before the run begins, and asks before a run of hours.

use std::io::IsTerminal as _;
use std::time::Duration;

use console::Term;
use quiver_run::{Lengths, expected};
use quiver_suite::Case;

/// A run that takes longer asks first.
const ASKED_FROM: Duration = Duration::from_secs(3600);

/// About how long the cases take one after the other, or each so many times in turns with others. Cases whose lengths are refused
/// count nothing: their own runs tell why.
pub fn total(cases: &[Case], lengths: Lengths, turns: Option<u16>) -> Duration {
    let before = |place: usize| cases.get(place.wrapping_sub(1)).filter(|_| turns.is_none());
    let each = cases.iter().enumerate().filter_map(|(place, case)| expected(case, before(place), lengths).ok());
    each.sum::<Duration>() * u32::from(turns.unwrap_or(1))
}

/// A time as people say it: seconds up to two minutes, minutes up to two hours, then hours.
pub fn text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// The announcement of a run.
pub fn told(cases: usize, time: Duration) -> String {
    let s = if cases == 1 { "" } else { "s" };
    format!("{cases} case{s} to measure, about {}", text(time))
}

/// Whether both the question and its answer reach a person.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && Term::stderr().is_term()
}

/// Whether the user wants a run of this length. Shorter ones are not asked about; `ask` puts the question and returns the answer.
pub fn is_wanted(cases: usize, time: Duration, ask: impl FnOnce(&str) -> String) -> bool {
    if time < ASKED_FROM {
        return true;
    }
    let question = format!("{}. Ctrl-C ends it and keeps what was found. Go on? [y/N] ", told(cases, time));
    matches!(ask(&question).trim().to_lowercase().as_str(), "y" | "yes")
}

/// Asks on the terminal. A terminal that is gone answers nothing, which is no.
pub fn ask(question: &str) -> String {
    let terminal = Term::stderr();
    let answer = terminal.write_str(question).and_then(|()| terminal.read_line());
    answer.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_of_an_hour_or_more_is_asked_about() {
        let (long, short) = (Duration::from_secs(3 * 3600), Duration::from_secs(3599));
        let asked = |time, answer: &str| {
            let mut question = None;
            let wanted = is_wanted(12, time, |text| {
                question = Some(text.to_owned());
                answer.to_owned()
            });
            (wanted, question)
        };
        assert_eq!(asked(short, "n"), (true, None));
        let question = "12 cases to measure, about 3.0 h. Ctrl-C ends it and keeps what was found. Go on? [y/N] ";
        for (answer, wanted) in [("y", true), ("Yes\n", true), ("", false), ("n", false), ("yesterday", false)] {
            assert_eq!(asked(long, answer), (wanted, Some(question.to_owned())), "{answer}");
        }
    }

    #[test]
    fn times_are_told_in_one_unit() {
        let told = [1, 119, 120, 7199, 7200, 90_000].map(|seconds| text(Duration::from_secs(seconds)));
        assert_eq!(told, ["1 s", "119 s", "2 min", "120 min", "2.0 h", "25.0 h"]);
        assert_eq!(super::told(1, Duration::from_secs(5)), "1 case to measure, about 5 s");
    }

    #[test]
    fn devices_in_turns_take_their_time_each_turn() {
        let cases = quiver_suite::read([(
            "a.yaml",
            "suites: [{function: l2xc, driver: memif, frame: [64, 128], search: mrr}]",
        )])
        .unwrap();
        let once = total(&cases, Lengths::CSIT, None);
        assert_eq!(total(&cases, Lengths::CSIT, Some(6)), 6 * once);
        assert_eq!(once, 2 * total(&cases[..1], Lengths::CSIT, None));
    }
}

//! The file of news: change points of all series, and tests that failed, the newest first.

use serde_json::{Value, json};

use crate::collection::Collection;
use crate::columns::number;
use crate::figures::Group;
use crate::trend::sign;

/// The longest time that the page looks back, in microseconds.
const LOOK_BACK: i64 = 200 * 86_400 * 1_000_000;

/// Changes as columns: series, figure, time and revision of the first sample behind it, level before and after, direction
/// (1 better, -1 worse), chance. Failures: series, time, revision, message. `now` is the time of the newest document.
pub fn file(collection: &Collection, now: i64) -> Value {
    let mut changes = Vec::new();
    let mut failures = Vec::new();
    for (at, series) in collection.series.iter().enumerate() {
        for (figure, trend) in &series.trends {
            // Bandwidth is the rate once more, and of other figures it is not known how they should be.
            if matches!(collection.figures.all()[*figure as usize].group, Group::Other | Group::Bandwidth) {
                continue;
            }
            let (places, _) = series.samples(*figure);
            for pair in trend.pieces.windows(2) {
                let row = &series.rows[places[pair[1].samples.0]];
                let direction = sign(pair[1].direction);
                if direction != 0 && now - row.time <= LOOK_BACK {
                    let levels = [pair[0].level.1, pair[1].level.0];
                    changes.push((row.time, row.revision, at, *figure, levels, direction, pair[1].chance));
                }
            }
        }
        let failed = series.rows.iter().filter(|row| now - row.time <= LOOK_BACK);
        failures.extend(failed.filter_map(|row| Some((row.time, row.revision, at, row.message.clone()?))));
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.0));
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.0));
    let levels = |at: usize| changes.iter().map(|change| number(change.4[at])).collect::<Vec<_>>();
    json!({
        "now": now,
        "changes": {
            "time": changes.iter().map(|change| change.0).collect::<Vec<_>>(),
            "revision": changes.iter().map(|change| change.1).collect::<Vec<_>>(),
            "series": changes.iter().map(|change| change.2).collect::<Vec<_>>(),
            "figure": changes.iter().map(|change| change.3).collect::<Vec<_>>(),
            "before": levels(0),
            "after": levels(1),
            "direction": changes.iter().map(|change| change.5).collect::<Vec<_>>(),
            "chance": changes.iter().map(|change| change.6).collect::<Vec<_>>(),
        },
        "failures": {
            "time": failures.iter().map(|failure| failure.0).collect::<Vec<_>>(),
            "revision": failures.iter().map(|failure| failure.1).collect::<Vec<_>>(),
            "series": failures.iter().map(|failure| failure.2).collect::<Vec<_>>(),
            "message": failures.iter().map(|failure| &failure.3).collect::<Vec<_>>(),
        },
    })
}

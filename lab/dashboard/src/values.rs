//! The file of a figure: all of its samples, for comparisons; and how many of the ratios between two sides an interval leaves
//! out.

use quiver_verdict::compare::{Confidence, ends_paired, ends_unpaired};
use serde_json::{Value, json};

use crate::collection::Collection;
use crate::columns::{differences, number};

/// The newest samples of a side that a comparison takes: beyond, more samples say little more and take much longer.
const SIDE_MAX: usize = 128;

/// Samples of a figure by series: `count[i]` of series `series[i]`, one after the other.
pub fn file(collection: &Collection, figure: u32) -> Value {
    let (mut series, mut count, mut time, mut revision, mut value) = (vec![], vec![], vec![], vec![], vec![]);
    for (at, own) in collection.series.iter().enumerate() {
        let (places, samples) = own.samples(figure);
        if samples.is_empty() {
            continue;
        }
        series.push(at as i64);
        count.push(samples.len());
        time.extend(places.iter().map(|place| own.rows[*place].time));
        revision.extend(places.iter().map(|place| own.rows[*place].revision));
        value.extend(samples.into_iter().map(number));
    }
    json!({
        "series": differences(series),
        "count": count,
        "time": differences(time),
        "revision": revision,
        "value": value,
    })
}

/// Places of the ends of an interval among the sorted ratios, from 0; -1 where there are too few samples for one.
/// `unpaired[m - 1][n - 1]` for m samples and n, m from n on, `paired[n - 1]` for n pairs.
pub fn ends(collection: &Collection) -> Value {
    let most = collection.series.iter().map(|series| series.rows.len()).max().unwrap_or(0).min(SIDE_MAX);
    let confidence = Confidence::HIGH;
    let known = |end: Option<usize>| end.map_or(-1, |end| end as i64);
    let unpaired = |first: usize| (1..=first).map(|second| known(ends_unpaired(first, second, confidence))).collect();
    json!({
        "confidence": confidence.value(),
        "most": most,
        "unpaired": (1..=most).map(unpaired).collect::<Vec<Vec<i64>>>(),
        "paired": (1..=most).map(|pairs| known(ends_paired(pairs, confidence))).collect::<Vec<_>>(),
    })
}

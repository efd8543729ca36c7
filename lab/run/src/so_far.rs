//! Bounds that a search had found when it failed or was interrupted.

use quiver_result::{Document, Figure};
use quiver_search::{Bounds, Progress};

use crate::Error;
use crate::figure::figure;

/// The end of the names of figures that hold an unfinished result: `ndr_lower_so_far`, in packets per second of both directions.
pub(crate) const SO_FAR: &str = "so_far";

/// Figures of single trials whose mean is the result so far, with the name of that result.
const RATES: [(&str, &str); 2] = [("receive_rate", "MRR"), ("closed_loop_rate", "closed loop")];

/// The last bounds of every goal, by name. Goals of a finished stage stay while the next stage runs.
#[derive(Default)]
pub(crate) struct Known(Vec<Bounds>);

impl Known {
    /// Replaces the bounds of the goals that a search tells, and keeps those of others. A goal whose loads are all undecided for a
    /// while, because a trial contradicts those before, keeps its last bounds.
    pub fn learn(&mut self, progress: &Progress) {
        let decided = progress.bounds.iter().filter(|bounds| bounds.lower.or(bounds.upper).is_some());
        for new in decided {
            match self.0.iter_mut().find(|old| old.name == new.name) {
                Some(old) => *old = new.clone(),
                None => self.0.push(new.clone()),
            }
        }
    }

    /// The bounds as figures of both directions together.
    pub fn figures(&self) -> Result<Vec<Figure>, Error> {
        let each = self.0.iter().flat_map(|bounds| {
            let word = bounds.name.to_lowercase().replace(' ', "_");
            let named = [("lower", bounds.lower), ("upper", bounds.upper)];
            named.into_iter().filter_map(move |(end, load)| Some((format!("{word}_{end}_{SO_FAR}"), load?)))
        });
        each.map(|(name, load)| figure(&name, 2.0 * load.pps(), "pps")).collect()
    }
}

/// An unfinished result of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct SoFar {
    /// The goal, such as `NDR`.
    pub name: String,
    /// The highest value within the goal, if one is known.
    pub lower: Option<f64>,
    /// The lowest value outside of the goal, if one is known.
    pub upper: Option<f64>,
    /// The unit of both.
    pub unit: String,
}

/// Bounds and mean rates that a failed or interrupted document kept, in the order of its figures.
pub fn so_far(document: &Document) -> Vec<SoFar> {
    let figures = document.quiver.as_ref().map_or(&[][..], |extension| &extension.figures);
    let mut all: Vec<SoFar> = Vec::new();
    for figure in figures {
        let Some(word) = figure.name.strip_suffix(SO_FAR).and_then(|name| name.strip_suffix('_')) else { continue };
        let ends = ["_lower", "_upper"].map(|end| word.strip_suffix(end));
        let word = ends.into_iter().flatten().next().unwrap_or(word);
        let name = match word {
            "ndr" | "pdr" => word.to_uppercase(),
            other => other.replace('_', " "),
        };
        let value = Some(figure.value.get());
        let (lower, upper) = match ends {
            [Some(_), _] => (value, None),
            [_, Some(_)] => (None, value),
            _ => (value, value),
        };
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.lower = lower.or(known.lower);
                known.upper = upper.or(known.upper);
            }
            None => all.push(SoFar { name, lower, upper, unit: figure.unit.clone() }),
        }
    }
    for (rate, name) in RATES.into_iter().filter(|_| !document.passed) {
        let values: Vec<f64> =
            figures.iter().filter(|figure| figure.name == rate).map(|figure| figure.value.get()).collect();
        if !values.is_empty() {
            let mean = Some(values.iter().sum::<f64>() / values.len() as f64);
            all.push(SoFar { name: name.to_owned(), lower: mean, upper: mean, unit: "pps".to_owned() });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use quiver_search::Load;

    use super::*;

    fn bounds(name: &str, lower: Option<f64>, upper: Option<f64>) -> Bounds {
        let load = |load: Option<f64>| load.map(|pps| Load::new(pps).expect("a load"));
        Bounds { name: name.to_owned(), lower: load(lower), upper: load(upper) }
    }

    #[test]
    fn bounds_of_a_finished_stage_stay_and_newer_ones_replace_older_ones() {
        let mut known = Known::default();
        let told = |bounds: Vec<Bounds>| Progress { bounds, ..Progress::default() };
        known.learn(&told(vec![bounds("NDR", None, Some(9e6)), bounds("PDR", None, None)]));
        known.learn(&told(vec![bounds("NDR", Some(1e6), Some(2e6)), bounds("PDR", Some(3e6), None)]));
        // The latency stage has no bounds of its own, and a contradiction decides nothing.
        known.learn(&told(vec![]));
        known.learn(&told(vec![bounds("NDR", None, None)]));
        let figures = known.figures().expect("figures");
        let named: Vec<_> = figures.iter().map(|figure| (figure.name.as_str(), figure.value.get())).collect();
        assert_eq!(named, [("ndr_lower_so_far", 2e6), ("ndr_upper_so_far", 4e6), ("pdr_lower_so_far", 6e6)]);
    }
}

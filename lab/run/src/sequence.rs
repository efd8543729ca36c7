//! Cases one after the other, on the processes of the one before where that is fair.

use quiver_result::Document;
use quiver_search::Progress;
use quiver_suite::Case;
use quiver_suite::field::Search;

use crate::bed::Bed;
use crate::document::{Named, Test};
use crate::figure::figure;
use crate::terms::check;
use crate::{Error, Lengths, Place, Stop, Terms, seek, speed_up, unavailable};

/// Figure: number of cases that these processes ran before.
const EARLIER: &str = "earlier_cases";

/// Runs cases one after the other. With short trials, cases that differ in search, load or window alone share generator and device:
/// loading millions of routes takes longer than the trials. With CSIT's, each case has processes of its own.
pub struct Sequence<'run> {
    place: &'run Place,
    stop: &'run Stop,
    /// Generator and device that the next case goes on with.
    bed: Option<Bed<'run>>,
    /// Cases that ran on them.
    earlier: u32,
}

/// Moves cases that share generator and device behind the first of them.
pub fn gather(cases: &mut Vec<Case>, lengths: Lengths) {
    let mut gathered: Vec<Case> = Vec::with_capacity(cases.len());
    for case in cases.drain(..) {
        let last = gathered.iter().rposition(|before| share(before, &case, lengths));
        gathered.insert(last.map_or(gathered.len(), |place| place + 1), case);
    }
    *cases = gathered;
}

/// Whether a case goes on with the generator and device of another one.
pub fn share(before: &Case, case: &Case, lengths: Lengths) -> bool {
    let keeps_device = |search| matches!(search, Search::Mrr | Search::NdrPdr | Search::Latency | Search::ClosedLoop);
    let same = Case { search: case.search, load: case.load, window: case.window, ..*before };
    !lengths.is_csit() && keeps_device(before.search) && keeps_device(case.search) && same == *case
}

impl<'run> Sequence<'run> {
    /// No case has run.
    pub fn new(place: &'run Place, stop: &'run Stop) -> Sequence<'run> {
        Sequence { place, stop, bed: None, earlier: 0 }
    }

    /// Runs a case, and gives its document, which tells also of a failure. `tell` hears between any two trials. `next` is the case
    /// that runs next with the same terms, if there is one.
    ///
    /// # Errors
    /// [`Error::Lacking`]: the machine cannot run it, and there is no document. [`Error::Figure`] and [`Error::Clock`]:
    /// there cannot be one.
    pub fn run(
        &mut self,
        case: &'run Case,
        next: Option<&Case>,
        terms: &Terms,
        tell: &mut dyn FnMut(&Progress),
    ) -> Result<Document, Error> {
        let (place, stop) = (self.place, self.stop);
        check(stop)?;
        let mut test = Test::new(Named::of(case), place)?;
        let found = if case.search == Search::SpeedUp {
            speed_up::run(case, place, terms, stop, &mut test, tell).map_err(unavailable)
        } else {
            self.bed(case, terms, &mut test).and_then(|mut bed| {
                let found = seek::seek(&mut bed, case.search, terms.lengths, &mut test.figures, tell);
                // Ctrl-C reaches the processes of this terminal, too: what fails then has been interrupted.
                let found = found.map_err(|error| check(stop).err().unwrap_or(error));
                test.learn(&mut bed);
                // A device that has died is this case's failure, not the next one's.
                if found.is_ok() && next.is_some_and(|next| share(case, next, terms.lengths)) && bed.counters().is_ok()
                {
                    (self.bed, self.earlier) = (Some(bed), self.earlier + 1);
                    return found;
                }
                let ended = bed.end();
                found.and_then(|found| ended.map(|()| found))
            })
        };
        match found {
            Err(lacking @ Error::Lacking(_)) => Err(lacking),
            found => test.document(found.map_err(|error| check(stop).err().unwrap_or(error))),
        }
    }

    /// Generator and device for a case: those of the case before, if it left them and they fit.
    fn bed(&mut self, case: &'run Case, terms: &Terms, test: &mut Test<'_>) -> Result<Bed<'run>, Error> {
        if let Some(mut bed) = self.bed.take().filter(|bed| share(bed.case(), case, terms.lengths)) {
            test.figures.push(figure(EARLIER, self.earlier.into(), "cases")?);
            bed.turn_to(case, terms)?;
            return Ok(bed);
        }
        self.earlier = 0;
        Bed::start(case, self.place, terms, self.stop).map_err(unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_that_share_processes_stand_together_in_their_order() {
        let text = "suites:\n- {driver: memif, frame: 64, function: ip4, scale: [20k, 2m], search: mrr}\n\
                    - {driver: memif, frame: 64, function: ip4, scale: [20k, 2m], search: [ndrpdr, reconf]}\n";
        let mut cases = quiver_suite::read([("test.yaml", text)]).expect("suites");
        let told = |cases: &[Case]| cases.iter().map(Case::name).collect::<Vec<_>>();
        let listed = told(&cases);
        gather(&mut cases, Lengths::CSIT);
        assert_eq!(told(&cases), listed, "with CSIT's trials none does");
        gather(&mut cases, Lengths::SHORT);
        let ends: Vec<String> =
            told(&cases).iter().map(|name| name.rsplit('-').take(2).collect::<Vec<_>>().join(" ")).collect();
        let (small, large) = ("ip4scale20k", "ip4scale2m");
        let expected = [("mrr", small), ("ndrpdr", small), ("mrr", large), ("ndrpdr", large)];
        assert_eq!(ends[..4], expected.map(|(search, scale)| format!("{search} {scale}")), "{ends:?}");
        assert!(ends[4..].iter().all(|end| end.starts_with("reconf")), "{ends:?}");
    }

    #[test]
    fn cases_share_processes_if_nothing_of_these_differs_and_trials_are_short() {
        let case = |suite: &str| {
            let text = format!("suites: [{{driver: memif, frame: 64, {suite}}}]");
            quiver_suite::read([("test.yaml", text.as_str())]).expect("a suite").remove(0)
        };
        let ndrpdr = case("function: ip4, scale: 2m, search: ndrpdr");
        for (suite, expected) in [
            ("function: ip4, scale: 2m, search: mrr", true),
            ("function: ip4, scale: 2m, search: closedloop, window: 8", true),
            ("function: ip4, scale: 2m, search: reconf", false),
            ("function: ip4, scale: 2m, search: endurance", false),
            ("function: ip4, scale: 20k, search: mrr", false),
            ("function: ip4, scale: 2m, search: mrr, feature: routecount", false),
            ("function: ip4, scale: 2m, search: mrr, device: vpp", false),
            ("function: ip4, scale: 2m, search: mrr, buffers: zerocopy", false),
        ] {
            assert_eq!(share(&ndrpdr, &case(suite), Lengths::SHORT), expected, "{suite}");
            assert!(!share(&ndrpdr, &case(suite), Lengths::CSIT), "{suite}");
        }
    }
}

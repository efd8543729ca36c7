//! Cases one after the other, on the processes of the one before where that is fair.

use quiver_result::Document;
use quiver_search::Progress;
use quiver_suite::Case;
use quiver_suite::field::Search;

use crate::bed::Bed;
use crate::document::Test;
use crate::figure::figure;
use crate::terms::check;
use crate::{Error, Lengths, Place, Stop, Terms, seek, speed_up, unavailable};

/// The figure of documents whose case was not the first one of its processes: how many came before.
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

/// Whether a case goes on with the generator and device of another one.
pub fn share(before: &Case, case: &Case, lengths: Lengths) -> bool {
    let leaves_all = |search| matches!(search, Search::Mrr | Search::NdrPdr | Search::Latency | Search::ClosedLoop);
    let same = Case { search: case.search, load: case.load, window: case.window, ..*before };
    !lengths.is_csit() && leaves_all(before.search) && leaves_all(case.search) && same == *case
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
        let mut test = Test::new(case, place)?;
        let found = if case.search == Search::SpeedUp {
            speed_up::run(case, place, terms, stop, &mut test, tell)
        } else {
            self.bed(case, terms).and_then(|mut bed| {
                let found = seek::seek(&mut bed, case.search, terms.lengths, &mut test.figures, tell);
                // Ctrl-C reaches the processes of this terminal, too: what fails then has been interrupted.
                let found = found.map_err(|error| check(stop).err().unwrap_or(error));
                test.learn(&mut bed);
                if self.earlier > 0 {
                    test.figures.push(figure(EARLIER, self.earlier.into(), "cases")?);
                }
                if found.is_ok() && next.is_some_and(|next| share(case, next, terms.lengths)) {
                    (self.bed, self.earlier) = (Some(bed), self.earlier + 1);
                    return found;
                }
                let ended = bed.end();
                found.and_then(|found| ended.map(|()| found))
            })
        };
        match found.map_err(unavailable) {
            Err(lacking @ Error::Lacking(_)) => Err(lacking),
            found => test.document(found.map_err(|error| check(stop).err().unwrap_or(error))),
        }
    }

    /// Generator and device for a case: those of the case before, if it left them.
    fn bed(&mut self, case: &'run Case, terms: &Terms) -> Result<Bed<'run>, Error> {
        if let Some(mut bed) = self.bed.take() {
            bed.turn_to(case, terms)?;
            return Ok(bed);
        }
        self.earlier = 0;
        Bed::start(case, self.place, terms, self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

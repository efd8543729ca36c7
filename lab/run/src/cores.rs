//! Which cores generator and device have.

use quiver_generator::cores::allowed;
use quiver_suite::Case;

use crate::Error;

/// The cores of a case.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// The generator's.
    pub generator: usize,
    /// Those of the device's workers, of which some share one where it is oversubscribed.
    pub device: Vec<usize>,
    /// Where control threads run: on none that is measured, if there are others, else beside the generator.
    pub control: Vec<usize>,
    /// Cores that the device has: fewer than workers where it is oversubscribed.
    pub there: usize,
}

impl Cores {
    /// Of those that this program may use.
    pub fn of(case: &Case) -> Result<Cores, Error> {
        Cores::among(&allowed(), case.cores.into(), case.needs().may_share_cores)
    }

    fn among(all: &[usize], wanted: usize, may_share: bool) -> Result<Cores, Error> {
        let least = if may_share { 1 } else { wanted };
        let Some((&generator, rest)) = all.split_first().filter(|(_, rest)| rest.len() >= least && wanted > 0) else {
            return Err(Error::Lacking(format!("{} cores needed, {} may be used", least + 1, all.len())));
        };
        let there = wanted.min(rest.len());
        let (free, own) = rest.split_at(rest.len() - there);
        let control = if free.is_empty() { vec![generator] } else { free.to_vec() };
        Ok(Cores { generator, device: own.iter().copied().cycle().take(wanted).collect(), control, there })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_the_last_cores_and_share_them_only_where_they_may() {
        let cores = Cores::among(&[0, 1, 2, 5], 2, false).expect("there are enough");
        assert_eq!((cores.generator, &cores.device[..], &cores.control[..]), (0, &[2, 5][..], &[1][..]));
        assert!(Cores::among(&[0, 1], 2, false).is_err() && Cores::among(&[0], 1, true).is_err());
        let shared = Cores::among(&[0, 1, 2], 5, true).expect("they may share");
        assert_eq!((&shared.device[..], &shared.control[..]), (&[1, 2, 1, 2, 1][..], &[0][..]));
        assert_eq!((shared.there, cores.there), (2, 2));
    }
}

//! Which cores generator and device have.

use quiver_generator::cores::allowed;
use quiver_suite::Case;
use quiver_testbed::{Core, Reach, Testbed};

use crate::Error;

/// The cores of a case.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// The generator's.
    pub generator: usize,
    /// Cores of each device's workers; some share one where it is oversubscribed.
    pub devices: Vec<Vec<usize>>,
    /// Where control threads run: on none that is measured, if there are others, else beside the generator.
    pub control: Vec<usize>,
    /// Cores that the device has: fewer than workers where it is oversubscribed.
    pub there: usize,
}

impl Cores {
    /// Chooses among the cores that this program may use, or that a testbed names.
    pub fn of(case: &Case, testbed: Option<&Testbed>) -> Result<Cores, Error> {
        let (wanted, may_share) = (case.cores.into(), case.needs().may_share_cores);
        match testbed {
            None => Cores::among(&allowed(), wanted, may_share),
            Some(testbed) => Cores::named(testbed, &allowed(), wanted, may_share),
        }
    }

    /// The generator and each device have the first of their cores in the file; control threads have the remaining ones
    /// here.
    fn named(testbed: &Testbed, all: &[usize], wanted: usize, may_share: bool) -> Result<Cores, Error> {
        let numbers = |cores: &[Core]| cores.iter().map(|core| usize::from(core.0)).collect::<Vec<_>>();
        let own = numbers(&testbed.generator.cores);
        let generator = own[0];
        if let Some(core) = own.iter().find(|core| !all.contains(core)) {
            return Err(Error::Lacking(format!(
                "the generator's core {core} may not be used here: the testbed must name another"
            )));
        }
        let mut there = wanted;
        let (mut devices, mut taken) = (Vec::new(), vec![generator]);
        for place in &testbed.devices {
            let cores = numbers(&place.cores);
            let host = &testbed.host(place.host).name;
            if cores.len() < if may_share { 1 } else { wanted } {
                return Err(Error::Lacking(format!(
                    "{wanted} cores needed, the testbed gives {} of {host}",
                    cores.len()
                )));
            }
            there = there.min(cores.len());
            if testbed.host(place.host).reach == Reach::Here {
                taken.extend(&cores);
            }
            devices.push(cores.iter().copied().take(wanted).cycle().take(wanted).collect());
        }
        let free: Vec<usize> = all.iter().copied().filter(|core| !taken.contains(core)).collect();
        let control = if free.is_empty() { vec![generator] } else { free };
        Ok(Cores { generator, devices, control, there })
    }

    fn among(all: &[usize], wanted: usize, may_share: bool) -> Result<Cores, Error> {
        let least = if may_share { 1 } else { wanted };
        let Some((&generator, rest)) = all.split_first().filter(|(_, rest)| rest.len() >= least && wanted > 0) else {
            return Err(Error::Lacking(format!("{} cores needed, {} may be used", least + 1, all.len())));
        };
        let there = wanted.min(rest.len());
        let (free, own) = rest.split_at(rest.len() - there);
        let control = if free.is_empty() { vec![generator] } else { free.to_vec() };
        let device = own.iter().copied().cycle().take(wanted).collect();
        Ok(Cores { generator, devices: vec![device], control, there })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_the_last_cores_and_share_them_only_where_they_may() {
        let cores = Cores::among(&[0, 1, 2, 5], 2, false).expect("there are enough");
        assert_eq!((cores.generator, &cores.devices[0][..], &cores.control[..]), (0, &[2, 5][..], &[1][..]));
        assert!(Cores::among(&[0, 1], 2, false).is_err() && Cores::among(&[0], 1, true).is_err());
        let shared = Cores::among(&[0, 1, 2], 5, true).expect("they may share");
        assert_eq!((&shared.devices[0][..], &shared.control[..]), (&[1, 2, 1, 2, 1][..], &[0][..]));
        assert_eq!((shared.there, cores.there), (2, 2));
    }

    #[test]
    fn a_testbed_names_the_cores_of_each_host() {
        let text = "hosts:\n  tg: {ports: {a: {interface: a}, b: {interface: b}}}\n  \
            dut: {ssh: dut, ports: {a: {interface: a}, b: {interface: b}}}\n\
            generator: {host: tg, cores: 1}\ndevices: [{host: dut, cores: [7, 0]}]\nlinks: [[tg.a, dut.a], [dut.b, tg.b]]\n";
        let testbed = quiver_testbed::read("lab.yaml", text).expect("a testbed");
        let cores = Cores::named(&testbed, &[0, 1, 2], 1, false).expect("there are enough");
        // Core 0 of the other host is not this one's.
        assert_eq!((cores.generator, &cores.devices[..], &cores.control[..]), (1, &[vec![7]][..], &[0, 2][..]));
        let error = Cores::named(&testbed, &[0, 1], 3, false).expect_err("too many").to_string();
        assert_eq!(error, "3 cores needed, the testbed gives 2 of dut");
        assert!(Cores::named(&testbed, &[0], 1, false).is_err());
        assert_eq!(Cores::named(&testbed, &[1], 3, true).expect("they may share").devices, [[7, 0, 7]]);
    }
}

//! A meter: the sensors of a machine, read at moments.

use std::path::Path;
use std::time::Duration;

use crate::energy::{Energy, Share};
use crate::missing::Missing;
use crate::sensor::{Candidate, Found, Origin, Quantity, Sensor, hwmon, powercap};

/// The machine's energy sensors.
#[derive(Clone, Debug)]
pub struct Meter {
    group: Option<(Origin, Vec<Sensor>)>,
    /// RAPL's psys beside packages: contains them, and is told apart.
    platform: Option<Sensor>,
    missing: Vec<Missing>,
}

/// When a reading is taken, by the clocks of who takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time on any steady clock.
    pub at: Duration,
    /// CPU time that the device under test has used up to now.
    pub cpu: Duration,
}

/// Values of all sensors at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    moment: Moment,
    values: Vec<Result<u64, Missing>>,
    platform: Option<Result<u64, Missing>>,
}

/// Readings that nothing lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{readings} readings: must be two or more, each later than the one before in time and not in CPU time earlier")]
pub struct Unordered {
    /// How many were given.
    pub readings: usize,
}

impl Meter {
    /// The best that is below `root`, which is `/sys`: RAPL's packages, its platform, the processor's sockets
    /// (`amd_energy`), the machine's power meter (`power_meter`, ACPI's). A group with a sensor that cannot be read is not
    /// used, as the rest of it would be too little.
    pub fn find(root: &Path) -> Meter {
        let (packages, mut platform) = powercap(root);
        let (energy, power): (Vec<Candidate>, Vec<Candidate>) = hwmon(root)
            .into_iter()
            .filter(|own| own.chip == "power_meter" || own.chip == "amd_energy" && own.label.starts_with("Esocket"))
            .partition(|own| own.chip == "amd_energy");
        let of = |candidates: Vec<Candidate>| candidates.into_iter().map(|own| Ok(own.sensor)).collect::<Vec<_>>();
        let groups = [
            (Origin::RaplPackages, packages),
            (Origin::RaplPlatform, platform.iter().cloned().collect()),
            (Origin::HwmonEnergy, of(energy)),
            (Origin::HwmonPower, of(power)),
        ];
        let mut missing = Vec::new();
        for (origin, sensors) in groups {
            match readable(sensors) {
                Ok(sensors) if sensors.is_empty() => {}
                Ok(sensors) => {
                    let beside = platform.take().filter(|_| origin == Origin::RaplPackages);
                    let platform = match readable(beside.into_iter().collect()) {
                        Ok(sensors) => sensors.into_iter().next(),
                        Err(unreadable) => {
                            missing.extend(unreadable);
                            None
                        }
                    };
                    return Meter { group: Some((origin, sensors)), platform, missing };
                }
                Err(unreadable) => missing.extend(unreadable),
            }
        }
        if missing.is_empty() {
            missing.push(Missing::NoSensor { root: root.to_owned() });
        }
        Meter { group: None, platform: None, missing }
    }

    /// A meter of another machine, whose sensors are not read: the energy is CPU seconds.
    pub fn away(host: &str) -> Meter {
        Meter { group: None, platform: None, missing: vec![Missing::Away { host: host.to_owned() }] }
    }

    /// A sensor of hwmon by its name: `ina226/power1`, or `hwmon3/power1` where two chips have the same name. The user
    /// knows its range of measurement.
    pub fn named(root: &Path, name: &str) -> Result<Meter, Missing> {
        let is_meant = |own: &Candidate| {
            name.split_once('/')
                .is_some_and(|(chip, channel)| (chip == own.chip || chip == own.folder) && channel == own.channel)
        };
        let (meant, others): (Vec<Candidate>, Vec<Candidate>) = hwmon(root).into_iter().partition(is_meant);
        if meant.len() != 1 {
            let all = meant.iter().chain(&others);
            let there: Vec<String> = all.map(|own| format!("{}/{}", own.folder, own.channel)).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            return Err(Missing::Named { name: name.to_owned(), found: meant.len(), there });
        }
        let sensors: Vec<Sensor> = meant.into_iter().map(|own| own.sensor).collect();
        sensors.iter().try_for_each(|sensor| sensor.read().map(drop))?;
        let is_power = sensors.iter().any(|sensor| sensor.quantity == Quantity::Power);
        let origin = if is_power { Origin::HwmonPower } else { Origin::HwmonEnergy };
        Ok(Meter { group: Some((origin, sensors)), platform: None, missing: Vec::new() })
    }

    /// Where joules will come from; none if there will only be CPU seconds.
    pub fn origin(&self) -> Option<Origin> {
        self.group.as_ref().map(|(origin, _)| *origin)
    }

    /// Sensors that are not used, each with the remedy.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Reads all sensors. What cannot be read is told by [`Meter::energy`].
    pub fn read(&self, moment: Moment) -> Reading {
        let sensors = self.group.iter().flat_map(|(_, sensors)| sensors);
        let values = sensors.map(Sensor::read).collect();
        Reading { moment, values, platform: self.platform.as_ref().map(Sensor::read) }
    }

    /// The energy from the first to the last of this meter's readings. Two readings are enough for a trial. A trial
    /// longer than a counter's range (some 20 minutes on a loaded server), or a power meter, needs more in between.
    /// Where a sensor failed, the result is CPU seconds, with the reason.
    ///
    /// # Errors
    /// There are fewer than two readings, or they are not in the order of time.
    pub fn energy(&self, readings: &[Reading]) -> Result<Energy, Unordered> {
        let follows = |pair: &[Reading]| {
            let (before, after) = (pair[0].moment, pair[1].moment);
            before.at < after.at && before.cpu <= after.cpu
        };
        let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
            return Err(Unordered { readings: 0 });
        };
        if readings.len() < 2 || !readings.windows(2).all(follows) {
            return Err(Unordered { readings: readings.len() });
        }
        let cpu_seconds = (last.moment.cpu - first.moment.cpu).as_secs_f64();
        let Some((origin, sensors)) = &self.group else {
            return Ok(Energy::CpuSeconds { cpu_seconds, because: told(&self.missing) });
        };
        let shares: Result<Vec<Share>, Missing> = sensors
            .iter()
            .enumerate()
            .map(|(index, sensor)| {
                let joules = sum(sensor, readings, |reading| reading.values.get(index))?;
                Ok(Share { sensor: sensor.name.clone(), joules })
            })
            .collect();
        let platform = self.platform.as_ref().map(|sensor| sum(sensor, readings, |reading| reading.platform.as_ref()));
        Ok(match shares {
            Ok(sensors) => Energy::Joules {
                joules: sensors.iter().map(|share| share.joules).sum(),
                origin: *origin,
                sensors,
                // A platform that is not known takes nothing from the packages.
                platform_joules: platform.and_then(Result::ok),
            },
            Err(missing) => Energy::CpuSeconds { cpu_seconds, because: told(&[missing]) },
        })
    }
}

/// All of a group, or why some are not.
fn readable(sensors: Vec<Found>) -> Result<Vec<Sensor>, Vec<Missing>> {
    let read = |sensor: Found| sensor.and_then(|sensor| sensor.read().map(|_| sensor));
    let (there, missing): (Vec<_>, Vec<_>) = sensors.into_iter().map(read).partition(Result::is_ok);
    match missing.is_empty() {
        true => Ok(there.into_iter().flatten().collect()),
        false => Err(missing.into_iter().filter_map(Result::err).collect()),
    }
}

/// Joules of one sensor.
fn sum<'readings>(
    sensor: &Sensor,
    readings: &'readings [Reading],
    value: impl Fn(&'readings Reading) -> Option<&'readings Result<u64, Missing>>,
) -> Result<f64, Missing> {
    let mut joules = 0.0;
    let mut last: Option<(u64, Duration)> = None;
    for reading in readings {
        let foreign =
            || Missing::NotReadable { path: sensor.path.clone(), error: "the reading is another meter's".into() };
        let (now, at) = (value(reading).ok_or_else(foreign)?.clone()?, reading.moment.at);
        if let Some((before, since)) = last {
            joules += match sensor.quantity {
                Quantity::Energy { range } => counted(sensor, range, before, now)? as f64 / 1e6,
                Quantity::Power => (before as f64 + now as f64) / 2.0 / 1e6 * (at - since).as_secs_f64(),
            };
        }
        last = Some((now, at));
    }
    if joules == 0.0 {
        return Err(Missing::StoodStill { path: sensor.path.clone() });
    }
    Ok(joules)
}

/// Microjoules between two values of a counter.
fn counted(sensor: &Sensor, range: Option<u64>, before: u64, after: u64) -> Result<u64, Missing> {
    match range {
        _ if after >= before => Ok(after - before),
        Some(range) => Ok(range - before + after),
        None => Err(Missing::FellBack { path: sensor.path.clone(), before, after }),
    }
}

fn told(missing: &[Missing]) -> Vec<String> {
    missing.iter().map(Missing::to_string).collect()
}

//! The sensors of Linux: which files there are, and what their numbers mean.
//!
//! Of powercap only zones of the first level count: a package contains its cores, and the platform (psys) contains the
//! packages. hwmon has sensors of everything, from disks to fans, that may contain each other too, so only two chips
//! are taken without being asked for.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::missing::Missing;

/// Where joules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// RAPL's counters of all processor packages, by powercap: cores, caches and what else is in there. Memory is not.
    RaplPackages,
    /// RAPL's counter of the platform (psys), by powercap, where no package has one.
    RaplPlatform,
    /// Counters of energy, by hwmon.
    HwmonEnergy,
    /// Meters of power, by hwmon: what they said at the readings, times the time in between.
    HwmonPower,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Origin::RaplPackages => "RAPL, packages",
            Origin::RaplPlatform => "RAPL, platform",
            Origin::HwmonEnergy => "hwmon, energy",
            Origin::HwmonPower => "hwmon, power",
        })
    }
}

/// The quantity that a sensor counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Microjoules since some moment; begins anew behind `range`, if that is known.
    Energy { range: Option<u64> },
    /// Microwatts.
    Power,
}

/// One file with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sensor {
    /// `package-0`, `power_meter/power1`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) quantity: Quantity,
}

impl Sensor {
    pub(crate) fn read(&self) -> Result<u64, Missing> {
        let value = number(&self.path)?;
        match self.quantity {
            Quantity::Energy { range: Some(range) } if value > range => {
                Err(Missing::OutOfRange { path: self.path.clone(), value, range })
            }
            _ => Ok(value),
        }
    }
}

/// A sensor, or why there is none where one belongs.
pub(crate) type Found = Result<Sensor, Missing>;

/// RAPL's packages, and its platform.
pub(crate) fn powercap(root: &Path) -> (Vec<Found>, Option<Found>) {
    let (mut packages, mut platform) = (Vec::new(), None);
    for zone in folders(&root.join("class/powercap")) {
        // `intel-rapl:0`, on AMD's processors too. `intel-rapl:0:1` is within it, `intel-rapl-mmio:0` is the same again.
        let Some(number) = file_name(&zone).strip_prefix("intel-rapl:").map(str::to_owned) else { continue };
        if number.parse::<u32>().is_err() {
            continue;
        }
        // `package-0`, `package-0-die-1`, `psys`.
        match text(&zone.join("name")) {
            Ok(name) if name == "psys" => platform = Some(zone_sensor(name, &zone)),
            Ok(name) if name.starts_with("package-") => packages.push(zone_sensor(name, &zone)),
            Ok(_) => {}
            Err(missing) => packages.push(Err(missing)),
        }
    }
    (packages, platform)
}

fn zone_sensor(name: String, zone: &Path) -> Found {
    let range = Some(number(&zone.join("max_energy_range_uj"))?);
    Ok(Sensor { name, path: zone.join("energy_uj"), quantity: Quantity::Energy { range } })
}

/// A sensor of hwmon, with the words by which it is chosen.
pub(crate) struct Candidate {
    pub(crate) chip: String,
    /// `hwmon3`.
    pub(crate) folder: String,
    /// `power1`.
    pub(crate) channel: String,
    pub(crate) label: String,
    pub(crate) sensor: Sensor,
}

/// All sensors of power and energy that hwmon has. Of one channel `_average` goes before `_input`.
pub(crate) fn hwmon(root: &Path) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for folder in folders(&root.join("class/hwmon")) {
        // Without a name it is no chip of hwmon's.
        let Ok(chip) = text(&folder.join("name")) else { continue };
        for path in files(&folder) {
            let Some((channel, quantity)) = channel(&file_name(&path)) else { continue };
            let folder_name = file_name(&folder);
            if found.last().is_some_and(|last| last.folder == folder_name && last.channel == channel) {
                continue;
            }
            let label = text(&folder.join(format!("{channel}_label"))).unwrap_or_default();
            let sensor = Sensor { name: format!("{chip}/{channel}"), path, quantity };
            found.push(Candidate { chip: chip.clone(), folder: folder_name, channel, label, sensor });
        }
    }
    found
}

/// `power1_average` and `power1_input` are channel `power1`.
fn channel(file: &str) -> Option<(String, Quantity)> {
    let (channel, what) = file.split_once('_')?;
    let (digits, quantity) = match (channel.strip_prefix("power"), channel.strip_prefix("energy"), what) {
        (Some(digits), _, "average" | "input") => (digits, Quantity::Power),
        (_, Some(digits), "input") => (digits, Quantity::Energy { range: None }),
        _ => return None,
    };
    digits.parse::<u32>().ok().map(|_| (channel.to_owned(), quantity))
}

fn number(path: &Path) -> Result<u64, Missing> {
    let text = text(path)?;
    text.parse().map_err(|_| Missing::NoNumber { path: path.to_owned(), text: text.chars().take(32).collect() })
}

fn text(path: &Path) -> Result<String, Missing> {
    let bytes = fs::read(path).map_err(|error| Missing::because(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Links to folders as well, which sysfs has in its classes.
fn folders(within: &Path) -> Vec<PathBuf> {
    files(within).into_iter().filter(|path| path.is_dir()).collect()
}

/// Sorted by name; nothing, where there is no such folder.
fn files(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

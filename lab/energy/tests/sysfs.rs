//! Meters on made-up trees of sysfs.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use quiver_energy::{Cost, Energy, Meter, Missing, Moment, Origin, Reading};
use tempfile::TempDir;

/// A tree like `/sys`, with files as given.
fn sysfs(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| write(root.path(), path, text));
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join("class").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// A machine with two packages, their parts, and a platform.
fn server() -> TempDir {
    sysfs(&[
        ("powercap/intel-rapl/enabled", "1"),
        ("powercap/intel-rapl:0/name", "package-0"),
        ("powercap/intel-rapl:0/energy_uj", "1000000"),
        ("powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
        ("powercap/intel-rapl:0:0/name", "core"),
        ("powercap/intel-rapl:0:0/energy_uj", "700000"),
        ("powercap/intel-rapl:0:0/max_energy_range_uj", "262143328850"),
        ("powercap/intel-rapl:1/name", "package-1"),
        ("powercap/intel-rapl:1/energy_uj", "262143000000"),
        ("powercap/intel-rapl:1/max_energy_range_uj", "262143328850"),
        ("powercap/intel-rapl:2/name", "psys"),
        ("powercap/intel-rapl:2/energy_uj", "5000000"),
        ("powercap/intel-rapl:2/max_energy_range_uj", "262143328850"),
        ("powercap/intel-rapl-mmio:0/name", "package-0"),
        ("powercap/intel-rapl-mmio:0/energy_uj", "1000000"),
        ("powercap/intel-rapl-mmio:0/max_energy_range_uj", "262143328850"),
        ("hwmon/hwmon0/name", "power_meter"),
        ("hwmon/hwmon0/power1_average", "90000000"),
    ])
}

/// Readings are taken each second, and half of it is CPU time.
fn at(second: u64) -> Moment {
    Moment { at: Duration::from_secs(second), cpu: Duration::from_millis(500 * second) }
}

fn energy(meter: &Meter, readings: &[Reading]) -> Energy {
    meter.energy(readings).unwrap()
}

fn joules(energy: &Energy) -> f64 {
    match energy {
        Energy::Joules { joules, .. } => *joules,
        Energy::CpuSeconds { .. } => panic!("{energy:?}"),
    }
}

fn because(energy: &Energy) -> String {
    match energy {
        Energy::CpuSeconds { because, cpu_seconds } => format!("{cpu_seconds} s: {}", because.join("; ")),
        Energy::Joules { .. } => panic!("{energy:?}"),
    }
}

fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value}, must be {wanted}");
}

#[test]
fn packages_add_up_their_parts_do_not_and_a_counter_wraps() {
    let root = server();
    let meter = Meter::find(root.path());
    assert_eq!((meter.origin(), meter.missing()), (Some(Origin::RaplPackages), [].as_slice()));
    let before = meter.read(at(0));
    write(root.path(), "powercap/intel-rapl:0/energy_uj", "21000000");
    write(root.path(), "powercap/intel-rapl:0:0/energy_uj", "15000000");
    write(root.path(), "powercap/intel-rapl:1/energy_uj", "9671150"); // 0.328850 J up to the range, then 9.671150 J
    write(root.path(), "powercap/intel-rapl:2/energy_uj", "50000000");
    let after = meter.read(at(1));
    let used = energy(&meter, &[before, after]);
    let Energy::Joules { joules, origin, sensors, platform_joules } = &used else { panic!("{used:?}") };
    near(*joules, 30.0);
    near(platform_joules.unwrap(), 45.0);
    assert_eq!(*origin, Origin::RaplPackages);
    let shares: Vec<&str> = sensors.iter().map(|share| share.sensor.as_str()).collect();
    assert_eq!(shares, ["package-0", "package-1"]);
    near(sensors[0].joules, 20.0);
    near(sensors[1].joules, 10.0);
    let cost = used.per_million(NonZeroU64::new(60_000_000).unwrap());
    assert_eq!(cost, Cost::Joules(0.5));
    assert_eq!(cost.to_string(), "0.5000 J per million packets");
    let text = serde_json::to_string(&used).unwrap();
    assert!(text.starts_with(r#"{"measure":"joules","joules":30.0,"origin":"rapl-packages","#), "{text}");
    assert_eq!(serde_json::from_str::<Energy>(&text).unwrap(), used);
}

#[test]
fn many_readings_see_every_turn_of_a_counter() {
    let root = sysfs(&[
        ("powercap/intel-rapl:0/name", "package-0"),
        ("powercap/intel-rapl:0/energy_uj", "0"),
        ("powercap/intel-rapl:0/max_energy_range_uj", "1000000"),
    ]);
    let meter = Meter::find(root.path());
    let readings: Vec<Reading> = (0..21)
        .map(|second| {
            write(root.path(), "powercap/intel-rapl:0/energy_uj", &(second * 300_000 % 1_000_000).to_string());
            meter.read(at(second))
        })
        .collect();
    near(joules(&energy(&meter, &readings)), 6.0);
}

#[test]
fn without_a_sensor_it_is_cpu_seconds() {
    let root = sysfs(&[]);
    let meter = Meter::find(root.path());
    assert_eq!(meter.origin(), None);
    assert_eq!(meter.missing(), [Missing::NoSensor { root: root.path().to_owned() }]);
    let used = energy(&meter, &[meter.read(at(0)), meter.read(at(4))]);
    assert!(because(&used).starts_with("2 s: "), "{used:?}");
    let cost = used.per_million(NonZeroU64::new(4_000_000).unwrap());
    assert_eq!(cost, Cost::CpuSeconds(0.5));
    assert_eq!(cost.to_string(), "0.5000 CPU seconds per million packets");
    let text = serde_json::to_string(&used).unwrap();
    assert!(text.starts_with(r#"{"measure":"cpu-seconds","cpu_seconds":2.0,"because":["#), "{text}");
}

#[test]
fn one_package_of_two_is_not_the_machine() {
    let root = server();
    fs::remove_file(root.path().join("class/powercap/intel-rapl:1/energy_uj")).unwrap();
    let meter = Meter::find(root.path());
    assert_eq!(meter.origin(), Some(Origin::RaplPlatform));
    let missing: Vec<String> = meter.missing().iter().map(Missing::to_string).collect();
    assert!(
        matches!(missing.as_slice(), [one] if one.contains("intel-rapl:1/energy_uj: cannot be read")),
        "{missing:?}"
    );
}

#[test]
fn a_sensor_that_vanishes_leaves_cpu_seconds_and_its_name() {
    let root = server();
    let meter = Meter::find(root.path());
    let before = meter.read(at(0));
    fs::remove_dir_all(root.path().join("class/powercap")).unwrap();
    let used = energy(&meter, &[before, meter.read(at(2))]);
    let text = because(&used);
    assert!(text.starts_with("1 s: ") && text.contains("intel-rapl:0/energy_uj: cannot be read"), "{text}");
}

#[test]
fn a_counter_that_stands_still_is_no_measurement() {
    let root = server();
    let meter = Meter::find(root.path());
    let before = meter.read(at(0));
    write(root.path(), "powercap/intel-rapl:0/energy_uj", "2000000");
    let used = energy(&meter, &[before, meter.read(at(1))]);
    let text = because(&used);
    assert!(text.contains("intel-rapl:1/energy_uj: says the same"), "{text}");
}

#[test]
fn a_platform_that_cannot_be_read_is_named() {
    let root = server();
    write(root.path(), "powercap/intel-rapl:2/energy_uj", "?");
    let meter = Meter::find(root.path());
    assert_eq!(meter.origin(), Some(Origin::RaplPackages));
    assert!(matches!(meter.missing(), [Missing::NoNumber { text, .. }] if text == "?"), "{:?}", meter.missing());
}

#[test]
fn a_platform_that_vanishes_takes_nothing_from_the_packages() {
    let root = server();
    let meter = Meter::find(root.path());
    let before = meter.read(at(0));
    fs::remove_dir_all(root.path().join("class/powercap/intel-rapl:2")).unwrap();
    write(root.path(), "powercap/intel-rapl:0/energy_uj", "2000000");
    write(root.path(), "powercap/intel-rapl:1/energy_uj", "262143100000");
    let used = energy(&meter, &[before, meter.read(at(2))]);
    assert!(matches!(used, Energy::Joules { platform_joules: None, .. }), "{used:?}");
}

#[test]
fn garbage_is_named_never_counted() {
    for (file, text, complaint) in [
        ("energy_uj", "", "`` is no number"),
        ("energy_uj", "-5", "`-5` is no number"),
        ("energy_uj", "lots", "`lots` is no number"),
        ("energy_uj", "99999999999999999999999999", "is no number"),
        ("energy_uj", "262143328851", "more than the counter's range of 262143328850"),
        ("max_energy_range_uj", "0x10", "`0x10` is no number"),
        ("name", "\u{0}", ""),
    ] {
        let root = server();
        write(root.path(), &format!("powercap/intel-rapl:0/{file}"), text);
        let found = Meter::find(root.path());
        if file == "name" {
            // A zone of no known name is none of the packages.
            assert_eq!(found.origin(), Some(Origin::RaplPackages));
            continue;
        }
        assert_ne!(found.origin(), Some(Origin::RaplPackages), "{file} {text}");
        assert!(found.missing()[0].to_string().contains(complaint), "{:?}", found.missing());
        if file == "energy_uj" {
            // The same, when it comes later.
            write(root.path(), "powercap/intel-rapl:0/energy_uj", "1000000");
            let meter = Meter::find(root.path());
            let before = meter.read(at(0));
            write(root.path(), "powercap/intel-rapl:0/energy_uj", text);
            let used = energy(&meter, &[before, meter.read(at(1))]);
            assert!(because(&used).contains(complaint), "{used:?}");
        }
    }
}

#[test]
fn a_power_meter_is_taken_times_time() {
    let root = sysfs(&[
        ("hwmon/hwmon0/name", "nvme"),
        ("hwmon/hwmon0/power1_input", "7000000"),
        ("hwmon/hwmon1/name", "power_meter"),
        ("hwmon/hwmon1/power1_average", "100000000"),
        ("hwmon/hwmon1/power1_average_interval", "1000"),
        ("hwmon/hwmon1/power1_input", "1"),
    ]);
    let meter = Meter::find(root.path());
    assert_eq!(meter.origin(), Some(Origin::HwmonPower));
    let mut readings = vec![meter.read(at(0))];
    write(root.path(), "hwmon/hwmon1/power1_average", "200000000");
    readings.extend([meter.read(at(2)), meter.read(at(3))]);
    near(joules(&energy(&meter, &readings)), 150.0 * 2.0 + 200.0);
}

#[test]
fn sockets_are_counted_cores_are_in_them() {
    let root = sysfs(&[
        ("hwmon/hwmon0/name", "amd_energy"),
        ("hwmon/hwmon0/energy1_input", "1"),
        ("hwmon/hwmon0/energy1_label", "Ecore000"),
        ("hwmon/hwmon0/energy2_input", "5000000"),
        ("hwmon/hwmon0/energy2_label", "Esocket0"),
    ]);
    let meter = Meter::find(root.path());
    assert_eq!(meter.origin(), Some(Origin::HwmonEnergy));
    let before = meter.read(at(0));
    write(root.path(), "hwmon/hwmon0/energy1_input", "9000000");
    write(root.path(), "hwmon/hwmon0/energy2_input", "8000000");
    let after = meter.read(at(1));
    near(joules(&energy(&meter, &[before, after.clone()])), 3.0);
    write(root.path(), "hwmon/hwmon0/energy2_input", "10");
    let reloaded = energy(&meter, &[after, meter.read(at(2))]);
    assert!(because(&reloaded).contains("fell from 8000000 to 10 microjoules"), "{reloaded:?}");
}

#[test]
fn other_sensors_are_used_by_name_only() {
    let root = sysfs(&[
        ("hwmon/hwmon0/name", "ina226"),
        ("hwmon/hwmon0/power1_input", "4000000"),
        ("hwmon/hwmon1/name", "ina226"),
        ("hwmon/hwmon1/power1_input", "6000000"),
        ("hwmon/hwmon1/power10_cap", "9"),
    ]);
    assert_eq!(Meter::find(root.path()).origin(), None);
    let twice = Meter::named(root.path(), "ina226/power1").unwrap_err().to_string();
    assert!(twice.contains("2 sensors") && twice.ends_with("hwmon0/power1, hwmon1/power1"), "{twice}");
    let none = Meter::named(root.path(), "power1").unwrap_err().to_string();
    assert!(none.contains("sensor power1: 0 sensors"), "{none}");
    let meter = Meter::named(root.path(), "hwmon1/power1").unwrap();
    near(joules(&energy(&meter, &[meter.read(at(0)), meter.read(at(5))])), 30.0);
}

#[test]
fn readings_are_in_order_and_of_the_same_meter() {
    let root = server();
    let meter = Meter::find(root.path());
    let (first, second) = (meter.read(at(1)), meter.read(at(2)));
    let readings = |count| format!("{count} readings: must be two or more");
    for (given, count) in [(vec![], 0), (vec![first.clone()], 1), (vec![second.clone(), first], 2)] {
        let error = meter.energy(&given).unwrap_err().to_string();
        assert!(error.starts_with(&readings(count)), "{error}");
    }
    let none = Meter::find(Path::new("/nonexistent"));
    let foreign = energy(&meter, &[none.read(at(1)), second]);
    assert!(because(&foreign).contains("another meter"), "{foreign:?}");
}

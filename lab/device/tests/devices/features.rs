//! A router has the feature of its case: it drops, passes and forwards the right packets.

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_control::protocol::Response;
use quiver_device::Device;
use quiver_stop::Stop;
use quiver_suite::Case;
use quiver_suite::field::{Device as Name, Feature, Function};
use serde_json::Value;

use crate::ends::{BURST, Sender, Wires};

/// Looks at a running device, whose files are in `folder`. Where packets go by policies and by several next hops is known of each
/// packet that is exchanged.
pub fn are_there(
    case: &Case,
    device: &mut dyn Device,
    wires: &mut Wires,
    folder: &Path,
    length: usize,
) -> Result<(), Failed> {
    match case.feature {
        Feature::UrpfStrict => {
            drops(case, device, wires, Sender::Nowhere, length)?;
            drops(case, device, wires, Sender::Opposite, length)
        }
        Feature::UrpfLoose => {
            drops(case, device, wires, Sender::Nowhere, length)?;
            wires.exchange(case, Sender::Opposite, length, BURST)
        }
        Feature::OwnTable if case.device == Name::Quiver => in_own_table(case, folder),
        feature if feature.unmatched_rules().is_some() && case.device == Name::Quiver => has_list(case, folder),
        _ => Ok(()),
    }
}

/// None of a burst of forged packets comes, from either side, and the check counts all.
fn drops(case: &Case, device: &mut dyn Device, wires: &mut Wires, sender: Sender, length: usize) -> Result<(), Failed> {
    let before = refused(device)?;
    wires.send_in_vain(case, sender, length)?;
    // These come behind them, and alone.
    wires.exchange(case, Sender::Own, length, BURST)?;
    assert_eq!(refused(device)? - before, u64::from(2 * BURST), "{:?}", device.counters()?);
    Ok(())
}

/// Packets dropped by the source check.
fn refused(device: &mut dyn Device) -> Result<u64, Failed> {
    Ok(device.counters()?.into_iter().filter(|(name, _)| name.contains("urpf")).map(|(_, count)| count).sum())
}

/// Quiver's answer to a command: a list.
fn ask(folder: &Path, line: &str) -> Result<Vec<Value>, Failed> {
    let wait = Stop::default().wait(Duration::from_secs(20));
    let Response::Done(answer) = quiver_daemon::ask(&folder.join("cli"), line, wait)? else {
        return Err("no answer".into());
    };
    Ok(answer.json.as_array().ok_or("a list")?.clone())
}

/// Quiver has the list, with all its rules, on input of both ports.
fn has_list(case: &Case, folder: &Path) -> Result<(), Failed> {
    let lists = ask(folder, "show acl-plugin acl")?;
    let rules = usize::from(case.feature.unmatched_rules().unwrap_or(0)) + 1;
    assert_eq!(lists[0]["rules"].as_array().map(Vec::len), Some(rules), "{lists:?}");
    let ports = ask(folder, "show acl-plugin interface")?;
    let directions: Vec<_> = ports.iter().map(|row| (&row["direction"], &row["lists"])).collect();
    assert_eq!(directions, [(&"input".into(), &"0".into()); 2], "{ports:?}");
    Ok(())
}

/// Quiver says which table its interfaces are in.
fn in_own_table(case: &Case, folder: &Path) -> Result<(), Failed> {
    let field = if case.function == Function::Ip6 { "ip6-table" } else { "table" };
    let rows = ask(folder, "show interface address")?;
    let ports: Vec<_> = rows.iter().filter(|row| row["interface"] != "local0").map(|row| row[field].as_u64()).collect();
    assert_eq!(ports, [Some(1); 2], "{rows:?}");
    Ok(())
}

//! Which object decides at the nodes.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, LOCAL, Undecided, decides, undecided};
use quiver_ip::fault::Fault;
use quiver_policer::Policers;

use crate::family::Punted;
use crate::listener::{reason_of, taker};
use crate::police::{Policed, PuntPolicer};
use crate::reason::Reason;
use crate::redirect::{ALL, Redirects};
use crate::traffic::Punts;

pub(crate) fn register<F: Punted>(control: &Control) {
    decides(control, F::LISTENER, punt::<F>);
    decides(control, F::UNAWAITED, |control, _| Some(named::<F>(control, F::UNAWAITED_ECHO)));
    for node in [F::LISTENER, F::UNAWAITED] {
        undecided(control, node, Undecided::Load, &["punt-queue-full"]);
    }
    decides(control, F::POLICER, policer::<F>);
    decides(control, F::REDIRECT, redirect::<F>);
}

/// The object that takes packets of this protocol and port, or packets that no node takes.
fn punt<F: Punted>(control: &Control, record: &Record) -> Option<String> {
    let found = taker::<F>(control.room::<Punts<F>>().current(), &record.bytes);
    Some(match (found, reason_of::<F>(Fault(record.hop))) {
        (Some((_, (protocol, port))), _) => format!("{} {protocol} {port}", F::PUNTS),
        (None, Some(reason)) => named::<F>(control, reason),
        (None, None) => format!("no {}", F::PUNTS),
    })
}

/// The object that takes packets for a reason.
fn named<F: Punted>(control: &Control, reason: Reason) -> String {
    let is_taken = control.room::<Punts<F>>().current().reasons.contains_key(&reason);
    if is_taken { format!("punt-reasons {reason}") } else { format!("no {}", F::PUNTS) }
}

fn policer<F: Punted>(control: &Control, _: &Record) -> Option<String> {
    let number = control.room::<Policed<F>>().current()?;
    let policers = control.room::<Policers>();
    Some(format!("{} {}: policers {}", F::POLICERS, PuntPolicer::<F>::NAME, policers.name(number)?))
}

fn redirect<F: Punted>(control: &Control, record: &Record) -> Option<String> {
    let receiver = control.room::<Redirects<F>>().receiver(InterfaceId(record.rx))?;
    let name = if receiver == LOCAL { ALL.to_owned() } else { control.room::<Interfaces>().name(receiver) };
    Some(format!("{} {name}", F::REDIRECTS))
}

//! Which object decides at the nodes.

use quiver_control::Control;
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, LOCAL, Undecided, decides, undecided};
use quiver_policer::Policers;

use crate::Punted;
use crate::listener::taker;
use crate::police::{Policed, PuntPolicer};
use crate::redirect::{ALL, Redirects};
use crate::traffic::Punts;

pub(crate) fn register<F: Punted>(control: &Control) {
    decides(control, F::LISTENER, punt::<F>);
    undecided(control, F::LISTENER, Undecided::Load, &["punt-queue-full"]);
    decides(control, F::POLICER, policer::<F>);
    decides(control, F::REDIRECT, redirect::<F>);
}

/// What takes packets of this protocol and port.
fn punt<F: Punted>(control: &Control, record: &Record) -> Option<String> {
    let punts = control.room::<Punts<F>>();
    Some(match taker::<F>(punts.current(), &record.bytes) {
        Some((_, (protocol, port))) => format!("{} {protocol} {port}", F::PUNTS),
        None => format!("no {}", F::PUNTS),
    })
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

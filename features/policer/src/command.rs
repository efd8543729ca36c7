//! `policer add`, `policer del`, `policer reset`, `show policer`.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Output, Reply, Rows};

use crate::config::{Action, Policer, PolicerName, RateUnit, Scheme};
use crate::policers::Policers;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<Scheme>());
    commands.add_kind(ArgumentKind::of::<RateUnit>());
    let action = |name: &str| format!("{name} (drop | transmit | mark-and-transmit <{name}-dscp:u8>)");
    let add = format!(
        "(policer add | configure policer) name <name:text> {{type <scheme:policer-scheme> | rate <unit:rate-unit> \
         | cir <cir:u32> | eir <eir:u32> | cb <cb:u64> | eb <eb:u64> | {} | {} | {}}}",
        action("conform-action"),
        action("exceed-action"),
        action("violate-action"),
    );
    let help = "Add a policer, or change the given fields of one.";
    let add = Command::new(add, help, self::add).arguments_of::<Policer>();
    let add = add.argument("conform-action-dscp", "DSCP of packets within the committed rate");
    let add = add.argument("exceed-action-dscp", "DSCP of packets within the excess rate");
    commands.add(add.argument("violate-action-dscp", "DSCP of packets above both rates"));
    let del = "policer del name <policers>";
    commands.add(Command::new(del, "Delete a policer and all references to it.", delete));
    let reset = "policer reset name <policers>";
    commands.add(Command::new(reset, "Refill the buckets of a policer.", reset_one));
    commands.add(Command::waiting("show policer", "Show policers and their counters.", show));
}

/// The action that stands behind a word.
fn action(given: &Matches, word: &str) -> Result<Option<Action>, CommandError> {
    let Some(group) = given.groups(word).into_iter().next() else { return Ok(None) };
    let dscp_name = format!("{word}-dscp");
    if let Some(dscp) = group.find::<u8>(&dscp_name)? {
        let is_one = dscp < 64;
        let wrong = || CommandError::new(format!("{dscp} is no DSCP; give 0 to 63")).at(given.place(&dscp_name));
        return is_one.then_some(Some(Action::Mark(dscp))).ok_or_else(wrong);
    }
    // What follows belongs to the group, too: the first of these words is meant.
    let (drop, transmit) = (group.place("drop"), group.place("transmit"));
    Ok(Some(match (group.has("drop"), group.has("transmit")) {
        (true, true) if drop.start < transmit.start => Action::Drop,
        (true, false) => Action::Drop,
        _ => Action::Transmit,
    }))
}

fn add(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let name: String = given.get("name")?;
    let actions = [action(given, "conform-action")?, action(given, "exceed-action")?, action(given, "violate-action")?];
    let (scheme, unit) = (given.find("scheme")?, given.find("unit")?);
    let (cir, eir, cb, eb) = (given.find("cir")?, given.find("eir")?, given.find("cb")?, given.find("eb")?);
    control.edit(Policer::new(name), |policer| {
        policer.scheme = scheme.unwrap_or(policer.scheme);
        policer.unit = unit.unwrap_or(policer.unit);
        (policer.cir, policer.eir) = (cir.unwrap_or(policer.cir), eir.unwrap_or(policer.eir));
        (policer.cb, policer.eb) = (cb.unwrap_or(policer.cb), eb.unwrap_or(policer.eb));
        let [conform, exceed, violate] = actions;
        policer.conform_action = conform.unwrap_or(policer.conform_action);
        policer.exceed_action = exceed.unwrap_or(policer.exceed_action);
        policer.violate_action = violate.unwrap_or(policer.violate_action);
    })?;
    Ok(Reply::done())
}

fn delete(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let PolicerName(name) = given.get("policers")?;
    control.delete::<Policer>(&name)?;
    Ok(Reply::done())
}

fn reset_one(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let PolicerName(name) = given.get("policers")?;
    let policers = control.room::<Policers>();
    policers.number(&name).map(|number| policers.fill(number));
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Index", "Name", "Type", "Rate", "CIR", "EIR", "CB", "EB", "Conform", "Exceed", "Violate"];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |(number, name): (u32, String)| {
        let policer = control.objects().get::<Policer>(&name)?;
        let seen = control.room::<Policers>().seen(number).map(|traffic| traffic.packets);
        let actions = [policer.conform_action, policer.exceed_action, policer.violate_action];
        let [conform, exceed, violate] =
            [0, 1, 2].map(|color: usize| Cell::from(format!("{} {}", seen[color], actions[color])));
        let (scheme, unit) = (Cell::of(policer.scheme), Cell::of(policer.unit));
        let (cir, eir) = (Cell::from(u64::from(policer.cir)), Cell::from(u64::from(policer.eir)));
        let index = Cell::from(u64::from(number));
        let bursts = (Cell::from(policer.cb), Cell::from(policer.eb));
        Some([index, Cell::from(name), scheme, unit, cir, eir, bursts.0, bursts.1, conform, exceed, violate])
    };
    rows.each(Policers::walk(&control), row).await;
    Ok(rows.end())
}

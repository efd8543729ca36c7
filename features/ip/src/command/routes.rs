//! The commands that change routes, and how every command that takes paths reads them.

use std::net::IpAddr;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, Pace};
use quiver_interface::InterfaceName;
use quiver_wire::{IpFamily, Prefix};

use super::table_word::table;
use crate::config::edits::{add_paths, remove_paths};
use crate::config::objects::{NextHop, Route, RouteAction, RoutePath, TableNumber};
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::kind::{Kind, NextHopKind, Of};

/// Placeholder in path grammars for the kinds of next hops that rooms register.
const NEXT_HOPS: &str = "$next-hop";

/// Lets paths in commands lead to next hops of a kind: `via KIND NUMBER`, or `via KIND INTERFACE`.
pub(crate) fn add_kind(control: &Control, spec: &'static NextHopKind) {
    let argument = if spec.of == Of::Interface { "interface" } else { "u32" };
    let grammar = format!("{} <{}:{argument}>", spec.name, spec.name);
    control.commands().add_part(NEXT_HOPS, grammar, &[(spec.name, spec.help)]);
}

pub(super) fn register<F: Family>(control: &Control) {
    let (commands, name) = (control.commands(), F::NAME);
    let paths = format!(
        "(via (<next-hop:{name}> [<interface>] | <other-next-hop:{}> [<interface>] | <interface> | drop | local | null-send-unreach | null-send-prohibit \
         | {name}-lookup-in-table <lookup-table:{name}-table> [src-lookup] | rx-{name} <receiver:interface> \
         | {NEXT_HOPS}) \
         {{next-hop-table <next-hop-table:{name}-table> | weight <weight:u8> | preference <preference:u8>}})...",
        F::Other::NAME
    );
    let (table, count) = (format!("table <table:{name}-table>"), "count <count:u32>");
    let route = |verb| format!("ip route [{table}] {verb} {{{count} | {table} | <prefix:{name}-prefix>}}");
    let add = format!("{} {paths} {{{count} | {table}}}", route("add"));
    let del = format!("{} [{paths} {{{count} | {table}}}]", route("del"));
    // Many routes are some seconds' work.
    let add = Command::waiting(add, "Add a route, or a path to a route.", add_route::<F>);
    let add = add.argument("other-next-hop", "next hop of the other address family");
    commands.add(add.arguments_of::<Route<F>>());
    let del = Command::waiting(del, "Delete a route, or a path of a route.", delete_route::<F>);
    commands.add(del.arguments_of::<Route<F>>());
}

/// The paths of a command whose grammar gives each behind `via`, as those of `ip route add` do.
pub fn paths<F: Family>(control: &Control, given: &Matches) -> Result<Vec<RoutePath<F>>, CommandError> {
    given.groups("via").iter().map(|given| path(control, given)).collect()
}

fn path<F: Family>(control: &Control, given: &Matches) -> Result<RoutePath<F>, CommandError> {
    let action = [
        ("drop", RouteAction::Drop),
        ("local", RouteAction::Local),
        ("null-send-unreach", RouteAction::Unreachable),
        ("null-send-prohibit", RouteAction::Prohibit),
    ];
    let (lookup, receiver) = (table::<F>(control, given, "lookup-table")?, given.find::<InterfaceName>("receiver")?);
    let action = match (lookup, &receiver) {
        (Some(_), _) if given.has("src-lookup") => Some(RouteAction::SourceLookup),
        (Some(_), _) => Some(RouteAction::Lookup),
        (None, Some(_)) => Some(RouteAction::Receive),
        (None, None) => action.into_iter().find(|(word, _)| given.has(word)).map(|(_, action)| action),
    };
    let (mut to, mut by) = (None, None);
    for spec in control.room::<Ip<F>>().fib.kinds.iter().map(Kind::spec).filter(|spec| given.has(spec.name)) {
        let number = if spec.of == Of::Number { given.find::<u32>(spec.name)? } else { None };
        by = if spec.of == Of::Interface { given.find::<InterfaceName>(spec.name)? } else { None };
        to = Some(NextHop { kind: spec.name.into(), number });
    }
    Ok(RoutePath {
        via: given.find::<F::Address>("next-hop")?,
        interface: given.find::<InterfaceName>("interface")?.or(receiver).or(by),
        table: TableNumber::new(lookup.or(table::<F>(control, given, "next-hop-table")?).unwrap_or(0)),
        weight: given.find("weight")?.unwrap_or(1),
        preference: given.find("preference")?.unwrap_or(0),
        action,
        to,
        other_via: given.find::<IpAddr>("other-next-hop")?,
    })
}

/// The route that is meant, without its paths, and as many after it as are asked for.
fn routes<F: Family>(
    control: &Control,
    given: &Matches,
) -> Result<impl Iterator<Item = Route<F>> + use<F>, CommandError> {
    let (first, count) = (given.get::<Prefix<F>>("prefix")?, given.find::<u32>("count")?.unwrap_or(1));
    let table = TableNumber::new(table::<F>(control, given, "table")?.unwrap_or(0));
    let address = move |i: u32| {
        let (base, width) = (F::to_bits(first.address()), u32::from(F::ADDRESS_BITS - first.length()));
        // Of prefixes without a bit of their own there is one.
        let shifted = u128::from(i).checked_shl(width).filter(|step| step >> width == u128::from(i));
        let step = shifted.or((i == 0).then_some(0))?;
        base.checked_add(step).filter(|address| *address <= F::mask(F::ADDRESS_BITS)).map(F::from_bits)
    };
    if count == 0 || address(count - 1).is_none() {
        let what = format!("there are not {count} prefixes of that length from {first} on");
        return Err(CommandError::new(what).at(given.place("count")));
    }
    let prefix = move |i| Prefix::new(address(i)?, first.length()).ok();
    Ok((0..count).filter_map(prefix).map(move |prefix| Route::new(table, prefix)))
}

async fn add_route<F: Family>(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths::<F>(&control, &given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&control, &given)? {
        pace.step().await;
        add_paths(&control, route, &paths)?;
    }
    Ok(Reply::done())
}

async fn delete_route<F: Family>(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let paths = paths::<F>(&control, &given)?;
    let mut pace = Pace::in_turns(&control);
    for route in routes(&control, &given)? {
        pace.step().await;
        let key = (route.table, route.prefix);
        if control.objects().get::<Route<F>>(&key).is_none() {
            let what = format!("there is no route {} in table {}", route.prefix, route.table);
            return Err(CommandError::new(what).at(given.place("prefix")));
        }
        match paths.is_empty() {
            true => control.delete::<Route<F>>(&key)?,
            false if !remove_paths(&control, &key, &paths)? => {
                let what = format!("the route {} has no such path", route.prefix);
                return Err(CommandError::new(what).at(given.place("via")));
            }
            false => {}
        }
    }
    Ok(Reply::done())
}

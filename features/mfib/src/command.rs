//! `ip mroute add`, `ip mroute del`.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_ip::table_word::table;
use quiver_wire::{Prefix, V4, V6};

use crate::change;
use crate::family::Multicast;
use crate::objects::{MulticastPath, MulticastRoute, PathFlag, RouteFlag};

/// Flags of paths and of routes in VPP's words.
const PATH_WORDS: [(&str, PathFlag); 4] = [
    ("Accept", PathFlag::Accept),
    ("Forward", PathFlag::Forward),
    ("Negate-Signal", PathFlag::NegateSignal),
    ("Dont-Preserve", PathFlag::DontPreserve),
];
const ROUTE_WORDS: [(&str, RouteFlag); 4] = [
    ("Signal", RouteFlag::Signal),
    ("Drop", RouteFlag::Drop),
    ("Connected", RouteFlag::Connected),
    ("Accept-all-itf", RouteFlag::AcceptAll),
];

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Multicast>(control: &Control) {
    let name = F::NAME;
    let words = |words: Vec<String>| words.join(" | ");
    let path_words = words(PATH_WORDS.iter().flat_map(|(word, flag)| spellings(word, flag.to_string())).collect());
    let route_words = words(ROUTE_WORDS.iter().flat_map(|(word, flag)| spellings(word, flag.to_string())).collect());
    let what = format!("(<group:{name}-prefix> | <group-address:{name}> | <source:{name}> <group-address:{name}>)");
    let paths = format!("(via (<next-hop:{name}> <interface> | <interface> | local) {{{path_words}}})...");
    for (verb, help) in [
        ("add", "Add a multicast route or paths to it, or change its flags."),
        ("del", "Delete a multicast route or paths of it."),
    ] {
        let grammar = format!("ip mroute {verb} {what} [table <table:{name}-table>] {{{route_words}}} [{paths}]");
        let run = if verb == "add" { add::<F> } else { delete::<F> };
        let command = Command::new(grammar, help, run).arguments_of::<MulticastRoute<F>>();
        let command = command.arguments_of::<MulticastPath<F>>();
        let command = command.argument("group-address", "address of one group").argument("table", "id of the table");
        let command = command.argument("next-hop", "router to which packets are sent in place of the group");
        control.commands().add(command.argument("local", "deliver packets locally"));
    }
}

/// VPP's word and ours.
fn spellings(word: &str, ours: String) -> Vec<String> {
    vec![word.to_owned(), ours]
}

fn route<F: Multicast>(control: &Control, given: &Matches) -> Result<MulticastRoute<F>, CommandError> {
    let (prefix, address) = (given.find::<Prefix<F>>("group")?, given.find::<F::Address>("group-address")?);
    let group = prefix.unwrap_or_else(|| Prefix::host(address.unwrap_or(F::UNSPECIFIED)));
    let source = given.find("source")?.unwrap_or(F::UNSPECIFIED);
    let table = TableNumber::new(table::<F>(control, given, "table")?.unwrap_or(0));
    let mut route = MulticastRoute::new(table, group, source);
    let has = |(word, flag): &(&str, RouteFlag)| given.has(word) || given.has(&flag.to_string());
    route.flags = ROUTE_WORDS.iter().filter(|word| has(word)).map(|(_, flag)| *flag).collect();
    route.paths = given.groups("via").iter().map(path).collect::<Result<_, _>>()?;
    Ok(route)
}

fn path<F: Multicast>(given: &Matches) -> Result<MulticastPath<F>, CommandError> {
    let has = |(word, flag): &(&str, PathFlag)| given.has(word) || given.has(&flag.to_string());
    let flags = PATH_WORDS.iter().filter(|word| has(word)).map(|(_, flag)| *flag).collect();
    let (interface, via) = (given.find::<InterfaceName>("interface")?, given.find::<F::Address>("next-hop")?);
    Ok(MulticastPath { interface, via, local: given.has("local"), flags })
}

fn add<F: Multicast>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let route = route::<F>(control, given)?;
    // As in VPP, what holds of a route is said without paths, or with the first of them.
    let flags = (route.paths.is_empty() || !route.flags.is_empty()).then(|| route.flags.clone());
    change::add(control, route, flags)?;
    Ok(Reply::done())
}

fn delete<F: Multicast>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let route = route::<F>(control, given)?;
    let whose = route.whose();
    match change::delete(control, &route)? {
        true => Ok(Reply::done()),
        false => Err(CommandError::new(format!("there is no such route, or path, of {whose}"))),
    }
}

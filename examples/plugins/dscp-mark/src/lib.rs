//! Marks IPv4 packets that an interface receives with a DSCP (RFC 2474), by their destination: a node on the feature arc
//! `ip4-unicast`, before `ip4-lookup`.
//!
//! - `node`: the node `dscp-mark`.
//! - `rules`: the rules that the node reads; `objects`: the config objects `dscp-marks`.
//! - `api`: the messages by which clients of VPP's binary API do the same, see the rules, and hear of changes.
//! - this file: what the plugin brings, and its commands.
#![deny(unsafe_code)]

mod api;
mod node;
mod objects;
mod rules;

use node::{DscpMark, Next};
use quiver_plugin_sdk::{
    Arguments, Cell, Command, Control, Interface, NodeSpec, Refusal, Reply, Setup, SetupError, Table, plugin,
};
use rules::{KIND, RULES_MAX, Rules};
use std::cell::RefCell;
use std::rc::Rc;

plugin!("dscp-mark", register);

fn register(setup: &mut Setup<'_>) -> Result<(), SetupError> {
    let counters = setup.counters("marked", "packets marked, by the number of the rule", RULES_MAX as u32)?;
    let node = setup.node(NodeSpec::new("dscp-mark", Next::ARCS, move |_worker| DscpMark::new(counters)))?;
    setup.feature("ip4-unicast", "dscp-mark", &["ip4-lookup"], &[])?;

    let rules = Rc::new(RefCell::new(Rules::default()));
    let changed = api::event(setup)?;
    setup.kind(objects::kind(node, rules.clone(), changed))?;
    setup.message(api::add_del())?;
    setup.message(api::dump(rules.clone()))?;
    setup.message(api::want_events())?;
    setup.command(Command::new(
        "set dscp-mark <interface> <prefix:ip4-prefix> <dscp:u8>",
        "Mark packets that an interface receives for a prefix.",
        set,
    ))?;
    setup.command(Command::new(
        "delete dscp-mark <interface> <prefix:ip4-prefix>",
        "Mark them no more.",
        |control, line| control.remove(KIND, &key(line)?).map(|()| Reply::Done),
    ))?;
    setup.command(Command::new("show dscp-mark", "Show the rules, and what each has marked.", move |control, _| {
        let mut table = Table::new(["Interface", "To", "DSCP", "Packets", "Bytes"]);
        for rule in rules.borrow().iter() {
            let (packets, bytes) = control.counter(counters, rule.number as u32).unwrap_or_default();
            let (interface, to) = (Interface(rule.interface), rule.prefix_text());
            table.row([interface.into(), to.into(), rule.dscp.into(), packets.into(), bytes.into()]);
        }
        Ok(table.into())
    }))
}

/// The key of the rule that a line names.
fn key(line: &Arguments<'_>) -> Result<[(&'static str, Cell); 2], Refusal> {
    let (interface, prefix) = (line.get::<String>("interface")?, line.get::<String>("prefix")?);
    Ok([("interface", interface.into()), ("to", prefix.into())])
}

fn set(control: &Control<'_>, line: &Arguments<'_>) -> Result<Reply, Refusal> {
    let dscp = ("dscp", line.get::<u8>("dscp")?.into());
    let settings: Vec<_> = key(line)?.into_iter().chain([dscp]).collect();
    control.put(KIND, &settings).map(|()| Reply::Done)
}

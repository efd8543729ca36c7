//! The config objects `dscp-marks`: a rule each.

use crate::api;
use crate::node::DscpMark;
use crate::rules::{KIND, Rule, Rules};
use quiver_plugin_sdk::{Control, Event, Field, Kind, NodeHandle, Object, Refusal};
use std::cell::RefCell;
use std::rc::Rc;

/// The kind: every change publishes the rules to the node's instances, enables the node where there are rules, and is told to
/// clients that asked for it.
pub fn kind(node: NodeHandle<DscpMark>, rules: Rc<RefCell<Rules>>, changed_event: Event) -> Kind {
    let fields = [
        Field::new("interface", "interface", "The interface that receives the packets.").key(),
        Field::new("to", "ip4-prefix", "Where the packets go.").key(),
        Field::new("dscp", "u8", "What they are marked with, from 0 to 63.").default("46"),
    ];
    let check = |object: &Object<'_>| match object.get::<u8>("dscp")? {
        0..=63 => Ok(()),
        dscp => Err(Refusal::new(format!("{dscp} has more than 6 bits")).of("dscp").remedy("from 0 to 63")),
    };
    Kind::new(KIND, "Packets marked with a DSCP when they are received.", fields, move |control, change| {
        let mut changed = rules.borrow().clone();
        let (rule, is_add) = match (&change.before, &change.after) {
            (_, Some(after)) => (Rule::read(after)?, true),
            (Some(before), None) => (Rule::read(before)?, false),
            (None, None) => return Ok(()),
        };
        match is_add {
            true => changed.insert(rule.clone())?,
            false => changed.remove(&rule),
        }
        publish(control, node, &changed, rule.interface)?;
        *rules.borrow_mut() = changed;
        control.tell(changed_event, &api::event_fields(&rule, is_add))
    })
    .check(check)
}

fn publish(control: &Control<'_>, node: NodeHandle<DscpMark>, rules: &Rules, touched: u32) -> Result<(), Refusal> {
    control.enable("ip4-unicast", "dscp-mark", touched, rules.has(touched))?;
    control.publish(node, rules.clone())
}

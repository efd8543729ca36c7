//! Messages of VPP's binary API: `dscp_mark_add_del`, `dscp_mark_dump`, and an event of changes.

use crate::rules::{KIND, Rule, Rules};
use quiver_plugin_sdk::{Answer, Cell, Control, Event, Message, MessageField, Refusal, Refused, Setup, SetupError};
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

/// VPP's number for a value that means nothing.
const INVALID_VALUE: i32 = -7;

/// Its event.
const EVENT: &str = "dscp_mark_event";

/// The message that does what the commands do.
pub fn add_del() -> Message {
    let fields = [
        MessageField::new("bool", "is_add"),
        MessageField::new("u8", "dscp"),
        MessageField::new("prefix", "to"),
        MessageField::new("string", "interface").array(64),
    ];
    Message::new(
        "dscp_mark_add_del",
        "Mark packets that an interface receives for a prefix, or do so no more.",
        fields,
        answer,
    )
}

fn answer(control: &Control<'_>, request: &[u8]) -> Result<Vec<u8>, Refused> {
    // A prefix is a family, 16 bytes for an address of any, and a length.
    let (is_add, dscp, family, length) = (request[0] != 0, request[1], request[2], request[19]);
    if family != 0 {
        return Err(Refused(INVALID_VALUE, Refusal::new("only IPv4 is marked").of("to")));
    }
    let address = Ipv4Addr::new(request[3], request[4], request[5], request[6]);
    let name = request[20..84].split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    let key: [(&str, Cell); 2] = [("interface", name.into()), ("to", format!("{address}/{length}").into())];
    match is_add {
        true => control.put(KIND, &key.into_iter().chain([("dscp", dscp.into())]).collect::<Vec<_>>())?,
        false => control.remove(KIND, &key)?,
    }
    Ok(vec![])
}

/// The fields of a rule.
fn fields() -> [MessageField; 3] {
    [
        MessageField::new("interface_index", "sw_if_index"),
        MessageField::new("prefix", "to"),
        MessageField::new("u8", "dscp"),
    ]
}

/// Their bytes.
fn bytes(rule: &Rule) -> Vec<u8> {
    let mut bytes = rule.interface.to_be_bytes().to_vec();
    bytes.push(0);
    bytes.extend(rule.network.to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend([rule.mask.count_ones() as u8, rule.dscp]);
    bytes
}

/// All rules: a message of details for each.
pub fn dump(rules: Rc<RefCell<Rules>>) -> Message {
    let answer = move |_: &Control<'_>, _: &[u8]| Ok(Answer::details(rules.borrow().iter().map(bytes)));
    Message::new("dscp_mark_dump", "Which packets are marked?", [], answer).details("dscp_mark_details", fields())
}

/// The event: a rule has come, or changed, or gone.
pub fn event(setup: &mut Setup<'_>) -> Result<Event, SetupError> {
    let fields = [MessageField::new("bool", "is_add")].into_iter().chain(fields());
    setup.event(EVENT, "A rule is there, or is no more.", fields)
}

/// The bytes of its fields.
pub fn event_fields(rule: &Rule, is_add: bool) -> Vec<u8> {
    [vec![is_add.into()], bytes(rule)].concat()
}

/// By this, clients ask for it.
pub fn want_events() -> Message {
    let answer = |_: &Control<'_>, request: &[u8]| {
        let pid = u32::from_be_bytes([request[1], request[2], request[3], request[4]]);
        Ok(Answer::subscription(pid, request[0] != 0))
    };
    let fields = [MessageField::new("bool", "enable"), MessageField::new("u32", "pid")];
    Message::new("want_dscp_mark_events", "Tell of rules that come and go, or no more.", fields, answer).event(EVENT)
}

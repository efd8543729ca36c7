//! The message `dscp_mark_add_del` of VPP's binary API.

use crate::rules::KIND;
use quiver_plugin_sdk::{Cell, Control, Message, MessageField, Refusal, Refused};
use std::net::Ipv4Addr;

/// VPP's number for a value that means nothing.
const INVALID_VALUE: i32 = -7;

/// The message: it does what the commands do.
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

//! Fixed message ids, and the table of message names and ids that each client gets.

use std::rc::Rc;

use crate::Wire;
use crate::wire::Text;

/// The messages whose numbers are fixed, from 1 on: clients know some of them before they have seen the table.
pub const NAMES: [&str; 28] = [
    "memclnt_create",
    "memclnt_create_reply",
    "memclnt_delete",
    "memclnt_delete_reply",
    "rx_thread_exit",
    "memclnt_rx_thread_suspend",
    "memclnt_read_timeout",
    "rpc_call",
    "rpc_call_reply",
    "get_first_msg_id",
    "get_first_msg_id_reply",
    "api_versions",
    "api_versions_reply",
    "trace_plugin_msg_ids",
    "sockclnt_create",
    "sockclnt_create_reply",
    "sockclnt_delete",
    "sockclnt_delete_reply",
    "sock_init_shm",
    "sock_init_shm_reply",
    "memclnt_keepalive",
    "memclnt_keepalive_reply",
    "control_ping",
    "control_ping_reply",
    "memclnt_create_v2",
    "memclnt_create_v2_reply",
    "get_api_json",
    "get_api_json_reply",
];

/// The first message of a client, whose number it knows before any other.
pub const SOCKCLNT_CREATE: u16 = 15;

/// The answer to it.
pub const SOCKCLNT_CREATE_REPLY: u16 = 16;

/// The last message of a client.
pub(crate) const SOCKCLNT_DELETE: u16 = 17;

/// Its reply. GoVPP confuses its number with that of the request if the table lists the request first.
pub(crate) const SOCKCLNT_DELETE_REPLY: u16 = 18;

/// A row of the table.
#[derive(Wire, Clone, Debug)]
pub(crate) struct MessageTableEntry {
    pub index: u16,
    pub name: Text<64>,
}

/// The fields `count` and `message_table` of the answer to a client's first message.
pub(crate) fn table(names: impl Iterator<Item = (u16, String)>) -> Rc<[u8]> {
    let mut rows: Vec<_> = names.map(|(index, name)| MessageTableEntry { index, name: name.into() }).collect();
    // GoVPP takes the last one whose name begins like that of `sockclnt_delete`.
    rows.sort_by_key(|row| row.index == SOCKCLNT_DELETE);
    let mut out = vec![];
    crate::wire::derived::put_count::<_, u16>(&rows, &mut out);
    crate::wire::derived::put_list::<_, u16>(&rows, &mut out);
    out.into()
}

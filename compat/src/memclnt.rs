//! The messages of the protocol itself: who is there, and which messages there are.

use std::rc::Rc;

use quiver_control::Control;

use crate::api::{Api, Service, add};
use crate::retval::Retval;
use crate::wire::Text;
use crate::{Message, Refusal, Wire, json};

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
/// The answer to it. GoVPP takes the number of this one for that of the other, where this one stands behind it in the table.
pub(crate) const SOCKCLNT_DELETE_REPLY: u16 = 18;

/// A client is there.
#[derive(Message, Clone, Debug)]
#[message(bare)]
pub(crate) struct SockclntCreate {
    pub context: u32,
    pub name: Text<64>,
}

/// The daemon knows the client, which learns the numbers of all messages.
#[derive(Message, Clone, Debug)]
#[message(bare)]
struct SockclntCreateReply {
    client_index: u32,
    context: u32,
    response: i32,
    index: u32,
    #[count(u16, "count")]
    message_table: Vec<MessageTableEntry>,
}

#[derive(Wire, Clone, Debug)]
struct MessageTableEntry {
    index: u16,
    name: Text<64>,
}

/// A client goes.
#[derive(Message, Clone, Debug)]
#[message(bare)]
pub(crate) struct SockclntDelete {
    client_index: u32,
    pub context: u32,
    index: u32,
}

/// Nothing more comes for the client.
#[derive(Message, Clone, Debug)]
#[message(bare)]
struct SockclntDeleteReply {
    context: u32,
    response: i32,
}

/// Is the daemon there, and has it answered everything before this?
#[derive(Message, Clone, Debug)]
#[message(request, reply = ControlPingReply)]
pub struct ControlPing;

/// It is, and it has.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub struct ControlPingReply {
    /// Who asked.
    pub client_index: u32,
    /// The daemon's process.
    pub vpe_pid: u32,
}

/// Is the daemon there? Asked in the other direction by VPP; answered all the same.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MemclntKeepalive;

/// Which files of messages are there, in which versions?
#[derive(Message, Clone, Debug)]
#[message(request, reply = ApiVersionsReply)]
struct ApiVersions;

/// These files.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ApiVersionsReply {
    #[count(u32, "count")]
    api_versions: Vec<ModuleVersion>,
}

#[derive(Wire, Clone, Debug)]
struct ModuleVersion {
    major: u32,
    minor: u32,
    patch: u32,
    name: Text<64>,
}

/// What is the number of the first message of a file, given by name and checksum as in `memif_00000000`?
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetFirstMsgIdReply)]
struct GetFirstMsgId {
    name: Text<64>,
}

/// This number.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetFirstMsgIdReply {
    first_msg_id: u16,
}

/// How are all messages defined?
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetApiJsonReply)]
struct GetApiJson;

/// The files of definitions, as one list in JSON.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetApiJsonReply {
    json: String,
}

pub(crate) fn register(control: &Control) {
    add(control, "memclnt", (2, 1, 0), |file| {
        // The session answers these itself.
        file.define::<SockclntCreate>();
        file.define::<SockclntCreateReply>();
        let reply = |name: &str| Service { reply: Some(name.into()), ..Service::default() };
        file.service::<SockclntCreate>(reply("sockclnt_create_reply"));
        file.define::<SockclntDelete>();
        file.define::<SockclntDeleteReply>();
        file.service::<SockclntDelete>(reply("sockclnt_delete_reply"));
        file.call(|call, _: ControlPing| {
            Ok(ControlPingReply { client_index: call.client.index(), vpe_pid: std::process::id() })
        });
        file.request(|_, _: MemclntKeepalive| Ok(()));
        file.request(|control, _: ApiVersions| Ok(versions(&control.room::<Api>())));
        file.request(first_msg_id);
        file.request(|control, _: GetApiJson| {
            let files = json::files(&control.room::<Api>()).into_iter().map(|(_, file)| file).collect::<Vec<_>>();
            Ok(GetApiJsonReply { json: serde_json::Value::from(files).to_string() })
        });
    });
}

fn versions(api: &Api) -> ApiVersionsReply {
    let version = |(name, (major, minor, patch)): (&'static str, (u32, u32, u32))| ModuleVersion {
        major,
        minor,
        patch,
        name: format!("{name}.api").into(),
    };
    ApiVersionsReply { api_versions: api.files.iter().map(|file| version((file.name, file.version))).collect() }
}

fn first_msg_id(control: &Control, request: GetFirstMsgId) -> Result<GetFirstMsgIdReply, Refusal> {
    let api = control.room::<Api>();
    let name = request.name.as_str();
    let wanted = name.rsplit_once('_').map_or(name, |(name, _)| name);
    let first = api.entries.iter().enumerate().find_map(|(id, entry)| {
        let file = api.files.get(entry.as_ref()?.file)?;
        (file.name == wanted).then_some(id as u16)
    });
    let none = || Refusal::new(Retval::NO_SUCH_ENTRY, format!("name: there is no file {wanted} of messages"));
    first.map(|first_msg_id| GetFirstMsgIdReply { first_msg_id }).ok_or_else(none)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use quiver_testkit::executor::Executor;

    #[test]
    fn the_daemon_says_which_messages_it_has() {
        let control = Executor::new(0).control();
        add(&control, "vpe", (1, 7, 0), |file| file.request(|_, _: Ping| Ok(())));
        let mut caller = Caller::connect(&control);
        let files = caller.request(&ApiVersions).expect("known").api_versions;
        let version = files.iter().find(|file| file.name.as_str() == "vpe.api").expect("it was added");
        assert_eq!((version.major, version.minor, version.patch), (1, 7, 0));
        assert!(caller.request(&MemclntKeepalive).is_ok());
        let mut first =
            |name: &str| caller.request(&GetFirstMsgId { name: name.into() }).map(|reply| reply.first_msg_id);
        let id = first("vpe_00c0ffee").expect("it was added");
        let entry = control.room::<Api>().entries[usize::from(id)].as_ref().map(|entry| entry.name_crc.clone());
        assert!(entry.is_some_and(|name| name.starts_with("ping_")));
        assert_eq!(first("nobody_00c0ffee"), Err(Retval::NO_SUCH_ENTRY));
        let json = caller.request(&GetApiJson).expect("known").json;
        let files: Vec<serde_json::Value> = serde_json::from_str(&json).expect("JSON");
        assert!(files.iter().any(|file| file["messages"].to_string().contains("\"ping\"")), "{json}");
    }

    /// Are you there?
    #[derive(Message, Clone, Debug)]
    #[message(request)]
    struct Ping;
}

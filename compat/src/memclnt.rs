//! The messages of the protocol itself: connections, and the table of messages.

use quiver_control::Control;

use crate::api::names::MessageTableEntry;
use crate::api::{Api, Service, extend};
use crate::retval::Retval;
use crate::wire::Text;
use crate::{Message, Refusal, Wire, json};

pub use crate::api::names::{NAMES, SOCKCLNT_CREATE, SOCKCLNT_CREATE_REPLY};

/// Opens a session for the client `name`.
#[derive(Message, Clone, Debug)]
#[message(bare)]
pub(crate) struct SockclntCreate {
    pub context: u32,
    pub name: Text<64>,
}

/// Client index, and the table that maps each message's name and checksum to its id.
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

/// Closes the session of a client.
#[derive(Message, Clone, Debug)]
#[message(bare)]
pub(crate) struct SockclntDelete {
    client_index: u32,
    pub context: u32,
    index: u32,
}

/// Confirms the end of a session; no further message follows.
#[derive(Message, Clone, Debug)]
#[message(bare)]
struct SockclntDeleteReply {
    context: u32,
    response: i32,
}

/// Asks for a reply after all earlier requests of this client have been answered.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ControlPingReply)]
pub struct ControlPing;

/// Confirms that all earlier requests are answered; carries the daemon's process id.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub struct ControlPingReply {
    /// Index of the client that sent the request.
    pub client_index: u32,
    /// The daemon's process.
    pub vpe_pid: u32,
}

/// Checks that the peer is alive; quiverd answers it, and never sends it first as VPP does.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MemclntKeepalive;

/// Asks for the API files and their versions.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ApiVersionsReply)]
struct ApiVersions;

/// API files with their major, minor and patch versions.
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

/// Asks for the id of the first message of an API file, named with its checksum as in `memif_00000000`.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetFirstMsgIdReply)]
struct GetFirstMsgId {
    name: Text<64>,
}

/// Id of the first message of the API file.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetFirstMsgIdReply {
    first_msg_id: u16,
}

/// Asks for the definitions of all messages.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetApiJsonReply)]
struct GetApiJson;

/// Definitions of all API files as one JSON list.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetApiJsonReply {
    json: String,
}

pub(crate) fn register(control: &Control) {
    extend(control, "memclnt", (2, 1, 0), |file| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caller, add};
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

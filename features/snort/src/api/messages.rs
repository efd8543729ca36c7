//! The messages themselves.

use quiver_compat::types::NONE;
use quiver_compat::{Message, flags};

flags! {
    /// Which packets of an interface are inspected.
    pub(super) struct SnortDirection(u8) as "snort_direction" Enum {
        /// Those that it receives.
        INPUT = 1 => "SNORT_API_DIRECTION_INPUT",
        /// Those that it sends.
        OUTPUT = 2 => "SNORT_API_DIRECTION_OUTPUT",
        /// All of them.
        INOUT = 3 => "SNORT_API_DIRECTION_INOUT",
    }
}

flags! {
    /// A verdict.
    pub(super) struct SnortVerdict(u8) as "snort_verdict" Enum {
        /// The packet passes.
        PASS = 0 => "SNORT_API_VERDICT_PASS",
        /// The packet is dropped.
        BLOCK = 1 => "SNORT_API_VERDICT_BLOCK",
        /// The packet passes with other bytes.
        REPLACE = 2 => "SNORT_API_VERDICT_REPLACE",
        /// The packet and its flow pass.
        WHITELIST = 3 => "SNORT_API_VERDICT_WHITELIST",
        /// The packet and its flow are dropped.
        BLACKLIST = 4 => "SNORT_API_VERDICT_BLACKLIST",
        /// The packet passes, and its flow is of no interest.
        IGNORE = 5 => "SNORT_API_VERDICT_IGNORE",
        /// Number of verdicts.
        MAX = 6 => "SNORT_API_MAX_DAQ_VERDICT",
    }
}

/// Creates an inspection instance with queue pairs for each worker, and says which verdicts drop.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SnortInstanceCreateV2Reply)]
pub(super) struct SnortInstanceCreateV2 {
    pub queue_size: u32,
    pub qpairs_per_thread: u32,
    pub drop_bitmap: u8,
    pub drop_on_disconnect: u8,
    pub name: String,
}

/// Number of the created instance.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SnortInstanceCreateV2Reply {
    pub instance_index: u32,
}

/// Deletes an inspection instance that no client has, and detaches its interfaces.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInstanceDelete {
    pub instance_index: u32,
}

/// Sets which verdicts drop a packet, a bit each by the verdict's number.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortSetDropBitmap {
    pub instance_index: u32,
    pub drop_bitmap: u8,
}

/// Disconnects an inspector. The packets that it holds are treated as its instances say.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortClientDisconnect {
    pub snort_client_index: u32,
}

/// Disconnects the inspectors of an instance.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInstanceDisconnect {
    pub instance_index: u32,
}

/// Inspects packets of an interface by an instance.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInterfaceAttach {
    pub instance_index: u32,
    pub sw_if_index: u32,
    pub snort_dir: u8,
}

/// Ends the inspection of packets of an interface by an instance.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInterfaceDetachV2 {
    pub instance_index: u32,
    pub sw_if_index: u32,
    pub snort_dir: u8,
}

/// Asks for one inspection instance, or for all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortInstanceV2Details, reply = SnortInstanceV2GetReply)]
pub(super) struct SnortInstanceV2Get {
    pub cursor: u32,
    pub instance_index: u32,
}

/// Ends the list of inspection instances; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortInstanceV2GetReply {
    pub cursor: u32,
}

impl Default for SnortInstanceV2GetReply {
    fn default() -> SnortInstanceV2GetReply {
        SnortInstanceV2GetReply { cursor: NONE }
    }
}

/// Describes one inspection instance: its memory, settings and client.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortInstanceV2Details {
    pub instance_index: u32,
    pub shm_size: u32,
    pub shm_fd: u32,
    pub drop_on_disconnect: u8,
    pub drop_bitmap: u8,
    pub snort_client_index: u32,
    pub qpairs_per_thread: u32,
    pub name: String,
}

/// Asks for the instances of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortInterfaceV2Details, reply = SnortInterfaceV2GetReply)]
pub(super) struct SnortInterfaceV2Get {
    pub cursor: u32,
    pub sw_if_index: u32,
}

/// Ends the list of inspected interfaces; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortInterfaceV2GetReply {
    pub cursor: u32,
}

impl Default for SnortInterfaceV2GetReply {
    fn default() -> SnortInterfaceV2GetReply {
        SnortInterfaceV2GetReply { cursor: NONE }
    }
}

/// Describes the instances of one interface for received and for sent packets; 65535 is none.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortInterfaceV2Details {
    pub sw_if_index: u32,
    pub in_instance_index: u16,
    pub out_instance_index: u16,
}

/// Asks for one inspector, or for all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortClientV2Details, reply = SnortClientV2GetReply)]
pub(super) struct SnortClientV2Get {
    pub cursor: u32,
    pub snort_client_index: u32,
}

/// Ends the list of inspectors; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortClientV2GetReply {
    pub cursor: u32,
}

impl Default for SnortClientV2GetReply {
    fn default() -> SnortClientV2GetReply {
        SnortClientV2GetReply { cursor: NONE }
    }
}

/// Describes one inspector: its threads and its mode.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortClientV2Details {
    pub client_index: u32,
    pub snort_client_index: u32,
    pub n_instances: u16,
    pub mode: u8,
}

/// Creates an inspection instance with one queue pair for each worker.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SnortInstanceCreateReply)]
pub(super) struct SnortInstanceCreate {
    pub queue_size: u32,
    pub drop_on_disconnect: u8,
    pub name: String,
}

/// Number of the created instance.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SnortInstanceCreateReply {
    pub instance_index: u32,
}

/// Ends the inspection of all packets of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInterfaceDetach {
    pub sw_if_index: u32,
}

/// Asks for the input mode, which is not supported.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SnortInputModeGetReply)]
pub(super) struct SnortInputModeGet;

/// Would tell the input mode.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SnortInputModeGetReply {
    pub snort_mode: u32,
}

/// Sets the input mode, which is not supported.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SnortInputModeSet {
    pub input_mode: u8,
}

/// Asks for one inspection instance, or for all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortInstanceDetails, reply = SnortInstanceGetReply)]
pub(super) struct SnortInstanceGet {
    pub cursor: u32,
    pub instance_index: u32,
}

/// Ends the list of inspection instances; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortInstanceGetReply {
    pub cursor: u32,
}

impl Default for SnortInstanceGetReply {
    fn default() -> SnortInstanceGetReply {
        SnortInstanceGetReply { cursor: NONE }
    }
}

/// Describes one inspection instance: its memory, settings and client.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortInstanceDetails {
    pub instance_index: u32,
    pub shm_size: u32,
    pub shm_fd: u32,
    pub drop_on_disconnect: u8,
    pub snort_client_index: u32,
    pub name: String,
}

/// Asks for the instance of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortInterfaceDetails, reply = SnortInterfaceGetReply)]
pub(super) struct SnortInterfaceGet {
    pub cursor: u32,
    pub sw_if_index: u32,
}

/// Ends the list of inspected interfaces; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortInterfaceGetReply {
    pub cursor: u32,
}

impl Default for SnortInterfaceGetReply {
    fn default() -> SnortInterfaceGetReply {
        SnortInterfaceGetReply { cursor: NONE }
    }
}

/// Describes the instance of one interface, that of received packets first.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortInterfaceDetails {
    pub sw_if_index: u32,
    pub instance_index: u32,
}

/// Asks for one inspector, or for all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = SnortClientDetails, reply = SnortClientGetReply)]
pub(super) struct SnortClientGet {
    pub cursor: u32,
    pub snort_client_index: u32,
}

/// Ends the list of inspectors; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
pub(super) struct SnortClientGetReply {
    pub cursor: u32,
}

impl Default for SnortClientGetReply {
    fn default() -> SnortClientGetReply {
        SnortClientGetReply { cursor: NONE }
    }
}

/// Describes one inspector by its instance.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct SnortClientDetails {
    pub client_index: u32,
    pub instance_index: u32,
}

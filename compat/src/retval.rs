//! Why a request was not done: the numbers of VPP's API, and the sentences that go with them into the log.

use quiver_control::ObjectError;
use quiver_control::cli::CommandError;

/// The `retval` of a reply: 0, or an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retval(pub i32);

macro_rules! retvals {
    ($($(#[$doc:meta])* $name:ident = $value:literal),* $(,)?) => {
        impl Retval {
            $($(#[$doc])* pub const $name: Retval = Retval($value);)*
        }
    };
}
retvals! {
    /// It was done.
    DONE = 0,
    /// Something else.
    UNSPECIFIED = -1,
    /// There is no interface of this number.
    INVALID_SW_IF_INDEX = -2,
    /// There is no such IP table.
    NO_SUCH_FIB = -3,
    /// There is no such thing.
    NO_SUCH_ENTRY = -6,
    /// A field has a value that means nothing.
    INVALID_VALUE = -7,
    /// Another field has an invalid value.
    INVALID_VALUE_2 = -8,
    /// Quiver cannot do it.
    UNIMPLEMENTED = -9,
    /// There is no interface of the second number.
    INVALID_SW_IF_INDEX_2 = -10,
    /// The system refused.
    SYSCALL_ERROR_1 = -11,
    /// The client is told already, or was not told.
    INVALID_REGISTRATION = -31,
    /// The route leads nowhere.
    NO_PATHS_IN_ROUTE = -52,
    /// There is no VLAN of this number.
    INVALID_VLAN = -55,
    /// The VLAN has an interface already.
    VLAN_ALREADY_EXISTS = -56,
    /// The interface does not have the address.
    ADDRESS_NOT_FOUND_FOR_INTERFACE = -60,
    /// The address cannot be taken away.
    ADDRESS_NOT_DELETABLE = -61,
    /// The interface does not speak IPv6.
    IP6_NOT_ENABLED = -62,
    /// There is no such node in the graph.
    NO_SUCH_NODE = -63,
    /// There is no such second node.
    NO_SUCH_NODE_2 = -64,
    /// No such table.
    NO_SUCH_TABLE = -65,
    /// The sub-interface is there already.
    SUBIF_ALREADY_EXISTS = -68,
    /// The interface is not of the right kind.
    INVALID_INTERFACE = -71,
    /// An argument is wrong.
    INVALID_ARGUMENT = -73,
    /// The tunnel is there already.
    TUNNEL_EXIST = -75,
    /// Packets that come out of a tunnel cannot go there.
    INVALID_DECAP_NEXT = -76,
    /// The interface is there already.
    IF_ALREADY_EXISTS = -79,
    /// The value is there already.
    VALUE_EXIST = -81,
    /// The capture's file cannot be made.
    CANNOT_CREATE_PCAP_FILE = -93,
    /// The address family is not supported.
    INVALID_ADDRESS_FAMILY = -97,
    /// The interface is no part of another.
    INVALID_SUB_SW_IF_INDEX = -98,
    /// The entry is there already.
    ENTRY_ALREADY_EXISTS = -116,
    /// The bridge domain is there already.
    BD_ALREADY_EXISTS = -119,
    /// Interfaces are in the bridge domain.
    BD_IN_USE = -120,
    /// Bridge domain 0 stays as it is.
    BD_NOT_MODIFIABLE = -121,
    /// There is no bridge domain of such a number.
    BD_ID_EXCEED_MAX = -122,
    /// The address is on an interface already.
    DUPLICATE_IF_ADDRESS = -127,
    /// A name has characters that it may not have, or none.
    ILLEGAL_NAME = -133,
    /// The instance number is taken.
    INSTANCE_IN_USE = -147,
    /// The bridge domain has a bridge virtual interface already.
    BD_ALREADY_HAS_BVI = -152,
    /// Floating point numbers arrive in another order.
    API_ENDIAN_FAILED = -159,
    /// A limit was reached.
    LIMIT_EXCEEDED = -162,
}

/// A request that was not done: the number for the client, and a sentence for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// The number.
    pub retval: Retval,
    /// Error text, with the remedy.
    pub why: String,
}

impl Refusal {
    /// A refusal for a reason.
    pub fn new(retval: Retval, why: impl Into<String>) -> Refusal {
        Refusal { retval, why: why.into() }
    }
    /// There is no interface of this number.
    pub fn no_interface(sw_if_index: u32) -> Refusal {
        Refusal::new(Retval::INVALID_SW_IF_INDEX, format!("sw_if_index: there is no interface {sw_if_index}"))
    }
    /// Refuses a request that Quiver does not implement.
    pub fn unimplemented(what: impl Into<String>) -> Refusal {
        Refusal::new(Retval::UNIMPLEMENTED, what)
    }
}

impl From<ObjectError> for Refusal {
    fn from(error: ObjectError) -> Refusal {
        Refusal::new(Retval::INVALID_VALUE, error.to_string())
    }
}
impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Refusal {
        Refusal::new(Retval::UNSPECIFIED, error.to_string())
    }
}

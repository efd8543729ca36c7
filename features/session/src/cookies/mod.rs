//! SYN cookies and the SYN proxy behind them: while a tenant has too many sessions without an answer, its SYNs begin none.
//!
//! The router answers a SYN itself and keeps nothing (RFC 4987, 3.6): its sequence number is the cookie. A client that returns the cookie
//! exists, so its session begins, and the router opens the connection to the server. Both ends know other sequence numbers of the server,
//! whose difference is applied to each later segment.
//!
//! - [`cookie`]: the number itself. [`compose`]: the segments that the router sends. [`translate`]: the difference, applied.
//! - [`proxy`]: what sessions of such connections keep. [`challenge`]: the node that answers SYNs and knows cookies. [`splice`]: the node
//!   that joins both halves of a connection.

pub(crate) mod challenge;
pub(crate) mod compose;
pub mod cookie;
pub(crate) mod proxy;
pub(crate) mod splice;
pub mod translate;

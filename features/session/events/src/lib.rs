//! Events of sessions: quiverd's workers write them into a ring in shared memory, and exporters read it.
//!
//! - [`event`]: an event, and its words. [`ring`]: the ring, where it is written. [`reader`]: the ring, as another process reads it.
//! - [`export`]: a loop from the ring into a sink. [`json`], [`ipfix`], [`syslog`]: formats. [`output`]: files and sockets.
//! - [`protocol`]: how an exporter gets the ring of a quiverd.
#![forbid(unsafe_code)]

pub mod event;
pub mod export;
pub mod ipfix;
pub mod json;
pub mod output;
pub mod protocol;
pub mod reader;
pub mod ring;
pub mod syslog;

pub use event::{End, Event, Kind, Reason, Translation};

//! Typed views of packet headers, and checksums.
#![forbid(unsafe_code)]

//! Results of the lab: one JSON document per test, and a tree of them in a folder.
//!
//! A [`Document`] has the names and the structure of CSIT's model UTI 1.5.1; what that has no place for is in one object of
//! its own, [`Extension`]. [`schema`] describes documents for others, `schema.json` beside this crate is its text.
#![forbid(unsafe_code)]

mod document;
mod extension;
mod outcome;
mod store;
mod value;

pub use document::{Document, Invalid, TestType, UTI, schema};
pub use extension::{Busy, Counters, EXTENSION, Extension, Figure, LIMITED, Machine, RoundTrip, TakenOut, Trial};
pub use outcome::{Bounds, Latencies, Latency, Loss, Outcome, SampledRate, Samples};
pub use store::{BYTES_MAX, Name, Skipped, Store, StoreError, Stored};
pub use value::{
    Amount, BandwidthUnit, Microseconds, NotAnAmount, Packets, Quantity, Rate, RateUnit, Requests, Seconds, Time,
    TimeError,
};

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;

//! The integration tests of this crate that run under the usual harness. They are one program, for each costs a link.

mod connections;
mod lab;
mod pages;
mod run;
mod top;

//! Tests of sessions, by subject.

mod limits;

//! Tests of more than half a minute: all numbers, all views, and large stores.

mod large;
mod numbers;
mod views;

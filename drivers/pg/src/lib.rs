//! The packet generator: streams, pacing, capture.

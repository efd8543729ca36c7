//! Quiver's engine.

//! TAP interfaces with several queues and offloads.

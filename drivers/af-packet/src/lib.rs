//! Any Linux interface through TPACKET_V3.

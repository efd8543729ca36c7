//! 802.1Q and QinQ sub-interfaces, and tag rewrite.

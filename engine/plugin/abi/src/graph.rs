use crate::Text;

/// The arc leads to the node named by `to`.
pub const ARC_NODE: u32 = 0;
/// The arc ends here; its name is the reason that is counted.
pub const ARC_DROP: u32 = 1;
/// The arc ends here, but the node has done with the packet what was to be done.
pub const ARC_DONE: u32 = 2;
/// The arc leads to the control thread.
pub const ARC_PUNT: u32 = 3;
/// The arc leads onto the feature arc named by `to`.
pub const ARC_FEATURES: u32 = 4;
/// The arc leads out of the graph by the sending interface.
pub const ARC_OUT: u32 = 5;
/// The arc leads to the next feature on the arc that the node is on.
pub const ARC_NEXT_FEATURE: u32 = 6;

/// An arc of a node. Packets are counted by arc, so a drop's reason needs no other counter.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arc {
    /// Its name.
    pub name: Text,
    /// Where it leads, one of `QUIVER_ARC_...`.
    pub kind: u32,
    /// The node or feature arc that it leads to, where `kind` needs one.
    pub to: Text,
}

/// A place on a feature arc, added by `add_feature`. It is enabled per interface by `enable`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Feature {
    /// The arc.
    pub arc: Text,
    /// The node, which has an arc of kind `QUIVER_ARC_NEXT_FEATURE`.
    pub node: Text,
    /// Features that come after it; the node at the arc's end may be named, too.
    pub before: *const Text,
    /// Number of nodes in `before`.
    pub before_count: u32,
    /// Features that come before it.
    pub after: *const Text,
    /// Number of nodes in `after`.
    pub after_count: u32,
}

/// The receiving interface decides which features a packet meets.
pub const SIDE_RX: u32 = 0;
/// The sending one does.
pub const SIDE_TX: u32 = 1;

/// A feature arc, added by `add_feature_arc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FeatureArc {
    /// Its name.
    pub name: Text,
    /// Target behind the last feature: a node, or another feature arc.
    pub end: Text,
    /// The packet's interface that decides, `QUIVER_SIDE_RX` or `QUIVER_SIDE_TX`.
    pub side: u32,
}

/// A vector of counters, added by `add_counters`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Counters {
    /// Its name, for `show plugins counters`.
    pub name: Text,
    /// Description of the counters.
    pub help: Text,
    /// Counters in it, at most 65,536.
    pub length: u32,
}

/// A counter. A worker's counters have one writer, that worker, and readers at any time: write with relaxed atomic stores.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A worker's part of a vector of counters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CounterSet {
    /// The counters.
    pub counts: *mut Count,
    /// Number of counters.
    pub length: u32,
}

/// The packet goes on in further buffers.
pub const FLAG_CHAINED: u16 = 1;
/// A checksum is to be filled in, or segments to be cut: see `offload`.
pub const FLAG_OFFLOAD: u16 = 2;
/// Nodes record what they do with the packet.
pub const FLAG_TRACED: u16 = 4;
/// The packet was made here, not received.
pub const FLAG_LOCAL: u16 = 8;

/// A vector of packets as columns, `rows` values each. The bytes of row `i` begin at
/// `data + buffer[i] * stride + offset[i]`, at the header that the node reads; `first[i]` of them lie there. No two rows
/// have bytes in common.
///
/// To go over a header, add to `offset` what is taken from `length` and `first`; to push one, the other way round, `offset`
/// is never negative and there are usually 128 bytes in front of a received packet. Columns that promise more than there is
/// are cut when the call returns.
#[repr(C)]
pub struct Frame {
    /// Packets, at most 64.
    pub rows: u32,
    /// Bytes of a buffer, from `data + buffer[i] * stride` on.
    pub size: u32,
    /// Where the buffers begin.
    pub data: *mut u8,
    /// Bytes from one buffer to the next.
    pub stride: usize,
    /// The rows' buffers.
    pub buffer: *const u32,
    /// Where the current header begins.
    pub offset: *mut u16,
    /// Bytes of the packet from `offset` on, in all its buffers.
    pub length: *mut u32,
    /// Bytes of the packet that lie in the first buffer: all unless the packet is chained.
    pub first: *mut u16,
    /// The interface that received the packet.
    pub rx: *const u32,
    /// The interface that is to send it.
    pub tx: *mut u32,
    /// `QUIVER_FLAG_...`.
    pub flags: *const u16,
    /// Result of a lookup, for the node that acts on it.
    pub hop: *mut u32,
    /// The arc by which the packet leaves; 0 when the call begins.
    pub next: *mut u16,
}

/// Bytes of a packet.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    /// The first one.
    pub data: *mut u8,
    /// Number of bytes.
    pub length: usize,
}

/// Offload state of a packet as the driver reported it, after virtio's `virtio_net_hdr` (virtio 1.2, 5.1.6).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Bit 0: the checksum is still to be computed; bit 1: it was found right.
    pub flags: u8,
    /// 0 none, 1 TCP over IPv4, 4 TCP over IPv6, 5 UDP; bit 7: with ECN.
    pub segmentation: u8,
    /// Payload bytes of each segment.
    pub segment_size: u16,
    /// Where the checksummed part begins, counted like a frame's `offset`.
    pub checksum_start: u16,
    /// Where the checksum lies, from `checksum_start`.
    pub checksum_offset: u16,
}

/// The node kept the packet.
pub const NO_ARC: u32 = u32::MAX;

/// Record of one node and one traced packet.
#[repr(C)]
pub struct Record {
    /// The packet's first bytes as they came to the node, from the current header on.
    pub bytes: *const u8,
    /// Number of these bytes, at most 128.
    pub byte_count: u32,
    /// Bytes of the whole packet.
    pub length: u32,
    /// The arc that it took, or `QUIVER_NO_ARC`.
    pub arc: u32,
    /// Result of a lookup.
    pub hop: u32,
    /// The interface that received it.
    pub rx: u32,
    /// The interface that is to send it.
    pub tx: u32,
    /// `QUIVER_FLAG_...`.
    pub flags: u16,
    /// Not used.
    pub reserved: u16,
}

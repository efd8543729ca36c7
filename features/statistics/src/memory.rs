//! Packet buffers and the segment's own memory: `/buffer-pools/default-numa-0/...`, `/mem/stat segment`, `/mem/statseg/...`.
//!
//! There is one pool, under the name of VPP's first. VPP counts buffers in its threads' caches for themselves; ours count
//! as used.

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::stats::{Counter, Description};

pub(crate) fn register(control: &Control) {
    let segment = crate::segment(control);
    let mut edit = segment.edit();
    let used = edit.gauge("/buffer-pools/default-numa-0/used");
    let available = edit.gauge("/buffer-pools/default-numa-0/available");
    let starved = edit.scalar("/quiver/buffers/starved");
    let limit = edit.gauge("/quiver/buffers/limit");
    // What a heap says in VPP: total, used, free, used by mappings, most, chunks that are free, bytes of overhead. A
    // sparse file has the first three.
    let memory = edit.table::<Counter>("/mem/stat segment", 1, 7);
    for (column, name) in ["total", "used", "free"].into_iter().enumerate() {
        edit.symlink(&format!("/mem/stat segment/{name}"), memory.target(), column as u32);
    }
    // GoVPP asks for these.
    let of_govpp = [edit.scalar("/mem/statseg/total"), edit.scalar("/mem/statseg/used")];
    drop(edit);
    memory.show(7);
    for (entry, help) in [
        ("/buffer-pools/default-numa-0/used", "Packet buffers in use, those that workers keep ready included."),
        ("/buffer-pools/default-numa-0/available", "Packet buffers in the common store, which are free."),
        ("/quiver/buffers/limit", "Packet buffers that there can be."),
        ("/quiver/buffers/starved", "How often a worker found no free packet buffer."),
    ] {
        segment.describe(entry, Description::of(help));
    }
    for (entry, help) in [
        ("/mem/statseg/total", "Size of the statistics segment."),
        ("/mem/statseg/used", "Bytes in use of the statistics segment."),
    ] {
        segment.describe(entry, Description::of(help).gauge().unit("bytes"));
    }
    crate::collect(control, move |control| {
        let dataplane = control.room::<Dataplane>();
        let buffers = dataplane.buffers();
        let stored = buffers.stored() as u64;
        segment.set(&available, stored);
        segment.set(&used, u64::from(buffers.count()).saturating_sub(stored));
        segment.set(&starved, buffers.starved());
        segment.set(&limit, buffers.limit().into());
        let (total, used) = segment.size();
        for (cell, bytes) in memory.rows()[0].iter().zip([total, used, total.saturating_sub(used)]) {
            cell.set(bytes);
        }
        segment.set(&of_govpp[0], total);
        segment.set(&of_govpp[1], used);
    });
}

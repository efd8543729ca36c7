//! The other end of the wire, for tests: golden scenarios send and check packets by it.

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_interface::Interfaces;

use crate::queue::Source;
use crate::room::PacketGenerators;

/// Lets a packet come in by an interface of the generator.
pub fn send(control: &Control, interface: &str, packet: &[u8]) -> Result<(), String> {
    let room = control.room::<PacketGenerators>();
    let port = room.ports.get(interface).ok_or_else(|| format!("{interface} is no packet generator"))?;
    if !control.room::<Interfaces>().get(port.id).is_some_and(|interface| interface.up) {
        return Err(format!("{interface} is down"));
    }
    let (queue, bytes) = (port.queue, packet.to_vec());
    control.room::<Dataplane>().post_to_queue(queue, move |worker| {
        if let Some((source, pool)) = worker.queue_and_pool::<Source>(queue) {
            source.put(pool, &bytes);
        }
    });
    Ok(())
}

/// Takes the packets that the generator's interfaces have sent, with the interfaces' names. From the first call on,
/// every interface that is created captures from its start.
///
/// # Panics
/// If copies were lost because more were sent between two calls than control keeps.
pub fn sent(control: &Control) -> Vec<(String, Vec<u8>)> {
    let captures = &mut control.room_mut::<PacketGenerators>().captures;
    let taken = captures.take_all();
    assert_eq!(captures.lost(), 0, "copies of sent packets were lost: take them more often");
    taken.into_iter().map(|sent| (sent.interface.to_string(), sent.bytes)).collect()
}

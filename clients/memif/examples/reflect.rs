//! Sends every Ethernet frame back to where it came from, with its addresses exchanged: `reflect SOCKET [master|slave] [ID]`.

use quiver_memif_client::{Client, Packets, QueueError, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let socket = arguments.first().ok_or("usage: reflect SOCKET [master|slave] [ID]")?.parse()?;
    let id = arguments.get(2).map_or(Ok(0), |id| id.parse())?;
    let is_master = arguments.get(1).is_some_and(|role| role == "master");
    let settings = if is_master { Settings::master(socket, id) } else { Settings::slave(socket, id) };

    let mut client = Client::new()?;
    let interface = client.open(settings)?;
    let mut packets = Packets::new();
    loop {
        for event in client.wait(None)? {
            println!("{event}");
        }
        let queues = client.queue_counts(interface).0;
        for queue in 0..queues {
            match reflect(&mut client, interface, queue, &mut packets) {
                // The next wait says why.
                Ok(()) | Err(QueueError::Disconnected | QueueError::Broken(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reflects everything that waits in a queue.
fn reflect(
    client: &mut Client,
    interface: quiver_memif_client::InterfaceId,
    queue: usize,
    packets: &mut Packets,
) -> Result<(), QueueError> {
    loop {
        let Some(rx) = client.rx_queue(interface, queue) else { return Ok(()) };
        if rx.receive(packets, 64)? == 0 {
            return Ok(());
        }
        for i in 0..packets.len() {
            if let Some(addresses) = packets.get_mut(i).and_then(|packet| packet.get_mut(..12)) {
                addresses.rotate_left(6);
            }
        }
        let Some(tx) = client.tx_queue(interface, 0) else { return Ok(()) };
        let mut sent = 0;
        while sent < packets.len() {
            sent += tx.send(packets.iter().skip(sent))?;
        }
    }
}

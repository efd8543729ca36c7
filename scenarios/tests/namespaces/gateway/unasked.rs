//! Flows that the server opens to the host inside.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::Namespace;

use super::Site;

/// Port where the host listens.
const PORT: u16 = 7000;
/// Longest time for what must come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for what must not come: its packets have been refused by then.
const SILENCE: Duration = Duration::from_millis(200);

/// The host's sockets, of both families.
struct Listeners {
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Listeners {
    fn open(host: &Namespace) -> Result<Listeners, Failed> {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
        let open = || io::Result::Ok(Listeners { tcp: TcpListener::bind(any)?, udp: UdpSocket::bind(any)? });
        Ok(host.within(open)??)
    }

    /// Whether a connection and a datagram of a namespace reach them by an address.
    fn are_reached(&self, from: &Namespace, address: IpAddr, within: Duration) -> Result<[bool; 2], Failed> {
        let to = SocketAddr::from((address, PORT));
        let send = || -> io::Result<bool> {
            let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
            UdpSocket::bind(any)?.send_to(b"unasked", to)?;
            Ok(TcpStream::connect_timeout(&to, within).is_ok())
        };
        let by_tcp = from.within(send)??;
        self.udp.set_read_timeout(Some(within))?;
        let by_udp = self.udp.recv(&mut [0; 16]).is_ok();
        if by_tcp {
            self.tcp.accept()?;
        }
        Ok([by_tcp, by_udp])
    }
}

/// They reach the host through a gateway without a policy.
pub fn pass(site: &Site) -> Result<(), Failed> {
    let listeners = Listeners::open(&site.gateway.host)?;
    for address in site.gateway.first() {
        let reached = listeners.are_reached(&site.outside.server, address, PATIENCE)?;
        if reached != [true, true] {
            return Err(format!("without a policy {address} is reached by TCP and UDP: {reached:?}").into());
        }
    }
    Ok(())
}

/// They do not reach it through the policy, which counts them. The host's own connections do, from the address that they are to have.
pub fn are_refused(site: &Site) -> Result<(), Failed> {
    let (gateway, policy) = (&site.gateway, site.policy);
    let listeners = Listeners::open(&gateway.host)?;
    for (&server, address) in policy.servers().iter().zip(gateway.first()) {
        let (node, reason) = policy.refusal(server);
        let mut addresses = vec![address, policy.seen(gateway, server)];
        addresses.dedup();
        for address in addresses {
            let before = gateway.dropped(node, reason)?;
            let reached = listeners.are_reached(&site.outside.server, address, SILENCE)?;
            if reached != [false, false] {
                return Err(format!("{address} is reached from the outside by TCP or UDP: {reached:?}").into());
            }
            let begun = Instant::now();
            while gateway.dropped(node, reason)? < before + 2 {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("{node} has not counted both as {reason}: {}", gateway.show("errors")?).into());
                }
            }
        }
        let to = SocketAddr::from((server, PORT));
        let listener = site.outside.server.within(|| TcpListener::bind(to))??;
        let _open = gateway.host.within(|| TcpStream::connect_timeout(&to, PATIENCE))??;
        let (_, peer) = listener.accept()?;
        if peer.ip() != policy.seen(gateway, server) {
            return Err(format!("the server sees {peer}, not {}", policy.seen(gateway, server)).into());
        }
    }
    Ok(())
}

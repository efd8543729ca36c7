//! `iperf3` over TCP and UDP.

use libtest_mimic::Failed;
use quiver_site::{Driver, Join, Protocol, Site, iperf3};

/// Slow enough for any machine that can run the tests.
const UDP_MEGABITS: u32 = 20;
/// A shared machine may stop any program for longer than its socket can buffer, so some loss proves nothing.
const UDP_LOST_PERCENT_MAX: f64 = 5.0;
/// A path that falls back to the retransmission of single segments stays below.
const TCP_BITS_PER_SECOND_MIN: f64 = 50e6;

/// A stream flows, without falling back to retransmissions. Where no queue of Linux's can lose a packet, it flows in order:
/// long and short packets of one flow must not overtake each other.
pub fn tcp(site: &Site) -> Result<(), Failed> {
    let transfer = iperf3(site, Protocol::Tcp, 2)?;
    if transfer.bits_per_second < TCP_BITS_PER_SECOND_MIN {
        return Err(format!("the stream crawled: {transfer:?}").into());
    }
    let has_no_loss = matches!(site.join(), Join::Quiver { driver: Driver::Tap, .. });
    if has_no_loss && transfer.out_of_order > 0 {
        return Err(format!("packets overtook each other: {transfer:?}").into());
    }
    Ok(())
}

/// Datagrams of a full MTU arrive at the rate at which they are sent.
pub fn udp(site: &Site) -> Result<(), Failed> {
    let transfer = iperf3(site, Protocol::Udp { megabits: UDP_MEGABITS }, 2)?;
    if transfer.lost_percent > UDP_LOST_PERCENT_MAX || transfer.bytes == 0 {
        return Err(format!("too few datagrams arrived: {transfer:?}").into());
    }
    Ok(())
}

//! Checks a stream by itself.

use quiver_control::ObjectError;

use crate::layout::Layout;
use crate::stream::PgStream;
use crate::values::FrameSize;

/// Refuses a stream whose fields contradict each other.
pub(crate) fn check(stream: &PgStream) -> Result<(), ObjectError> {
    let least = Layout::least(stream);
    if stream.pcap.is_none() && stream.size.smallest() < least {
        let what = format!("{} is not possible", stream.size);
        return Err(
            ObjectError::field("size", what).remedy(format!("from {least} to {} with these headers", FrameSize::MAX))
        );
    }
    if stream.received_by.is_some() && stream.output.is_none() {
        let what = "packets that are received are so by the stream's own interface";
        return Err(ObjectError::field("received-by", what).remedy("give an output, too, or leave it out"));
    }
    if stream.inner_vlan.is_some() && stream.vlan.is_none() {
        return Err(ObjectError::field("inner-vlan", "there is no tag before it").remedy("give a vlan, too"));
    }
    if stream.ip6_source.is_some() != stream.ip6_destination.is_some() {
        let (field, other) = match stream.ip6_source {
            Some(_) => ("ip6-destination", "ip6-source"),
            None => ("ip6-source", "ip6-destination"),
        };
        return Err(ObjectError::field(field, format!("there is none beside {other}")).remedy("give both, or neither"));
    }
    if stream.unnumbered && (stream.window > 0 || stream.latency) {
        let field = if stream.latency { "latency" } else { "window" };
        let what = "unnumbered packets cannot be recognized on return";
        return Err(ObjectError::field(field, what).remedy(format!("leave out {field} or unnumbered")));
    }
    if stream.ip6_udp && stream.ip6_source.is_none() {
        return Err(ObjectError::field("ip6-udp", "the packets are not IPv6").remedy("give ip6-source, too"));
    }
    if stream.checksum_offload && stream.vxlan.is_some() {
        return Err(
            ObjectError::field("checksum-offload", "a tunnel's packets have two UDP headers").remedy("leave out vxlan")
        );
    }
    if stream.repeat == 0 {
        return Err(ObjectError::field("repeat", "0 packets are impossible").remedy("at least 1"));
    }
    if stream.burst == 0 {
        return Err(ObjectError::field("burst", "0 packets are impossible").remedy("at least 1"));
    }
    if stream.maxframe == 0 {
        return Err(ObjectError::field("maxframe", "0 packets are impossible").remedy("at least 1"));
    }
    if stream.window > 0 && stream.pcap.is_some() {
        return Err(ObjectError::field("window", "packets of a file have no sequence numbers")
            .remedy("leave out window or pcap"));
    }
    if stream.latency && stream.pcap.is_some() {
        return Err(
            ObjectError::field("latency", "packets of a file have no timestamps").remedy("leave out latency or pcap")
        );
    }
    Ok(())
}

//! Which connections count.

use quiver_connections::Load;
use quiver_connections::profile::Transport;

use crate::Error;

/// Condition under which a connection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// It has closed, and no packet of it went twice.
    Closed,
    /// CSIT's rule for TCP without data: SYN and SYN-ACK have passed.
    Established,
    /// CSIT's rule for transactions: packets count, and each that did not arrive, or was not expected, is a loss.
    Packets {
        /// Packets of a transaction in both directions.
        each: u32,
    },
}

impl Counting {
    /// CSIT's rule for a load.
    ///
    /// # Errors
    /// The number of packets depends on the peer.
    pub fn csit(load: &Load) -> Result<Counting, Error> {
        let profile = &load.profile;
        if load.replay.is_none() && profile.transport == Transport::Tcp && profile.request == 0 && profile.response == 0
        {
            return Ok(Counting::Established);
        }
        let packets = profile
            .packets()
            .filter(|_| load.replay.is_none())
            .map(|[there, back]| there + back)
            .filter(|each| *each > 0);
        let each = packets.ok_or_else(|| {
            Error::Lacking("--csit counts packets, whose number this load does not know: count connections".into())
        })?;
        Ok(Counting::Packets { each })
    }

    /// As it stands in results.
    pub fn word(self) -> &'static str {
        match self {
            Counting::Closed => "closed",
            Counting::Established => "established",
            Counting::Packets { .. } => "packets",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csit_counts_connections_of_tcp_without_data_and_packets_of_transactions() {
        let of = |words: &str| Counting::csit(&Load::parse(words).expect("a load"));
        assert_eq!(of("profile tcp-cps").ok(), Some(Counting::Established));
        for (profile, each) in [("tcp-tput", 16), ("udp-cps", 2), ("udp-tput", 10)] {
            assert_eq!(of(&format!("profile {profile}")).ok(), Some(Counting::Packets { each }));
        }
        for unknown in ["profile tcp-tput response 100000", "replay flows.pcap"] {
            assert!(of(unknown).is_err(), "{unknown}");
        }
    }
}

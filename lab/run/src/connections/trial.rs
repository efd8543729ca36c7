//! One trial: what both ends counted, and who was the limit.

use std::collections::BTreeMap;
use std::time::SystemTime;

use quiver_generator::connections::Ends;
use quiver_search::{Seconds, TrialResult};
use serde_json::{Value, json};

use super::counting::Counting;
use crate::Error;

/// Share of the ceiling from which on the generator may have been the limit.
const AT_CEILING: f64 = 0.95;
/// Share of the connections that may be unsent before it is the generator that was the limit.
const UNSENT: f64 = 0.001;

/// Who was the limit of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The generator did not open all in time, or was at its ceiling.
    Generator,
    /// The device lost packets, or connections.
    Device,
    /// All that was asked for passed.
    Load,
}

impl Limit {
    /// As it stands in results.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Generator => "generator",
            Limit::Device => "device",
            Limit::Load => "load",
        }
    }
}

/// A trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The client's counts.
    pub client: Ends,
    /// The server's.
    pub server: Ends,
    /// Connections to be opened in a second, if that was limited.
    pub intended: Option<f64>,
    /// When it began.
    pub begun: SystemTime,
    /// Seconds in which connections were opened.
    pub opening: f64,
    /// Seconds of the trial in all.
    pub effective: f64,
    /// Losses by name: the device's and the generator's.
    pub losses: BTreeMap<String, u64>,
    /// Busy ticks of the client's worker. Its server shares them where both are on one core.
    pub ticks: u64,
    /// Busy ticks of the server's worker, where it has one of its own.
    pub server_ticks: Option<u64>,
    /// Resident memory in bytes at the end of opening: of the client's process, and of the server's if it is another one.
    pub resident: Vec<f64>,
    /// The same before the trial.
    pub resident_before: Vec<f64>,
    /// Who was the limit.
    pub limit: Limit,
}

impl Trial {
    /// Connections that were begun.
    pub fn attempted(&self) -> u64 {
        self.client.count("attempted")
    }
    /// Connections that count.
    pub fn counted(&self, counting: Counting) -> u64 {
        match counting {
            Counting::Closed => self.client.count("closed").saturating_sub(self.client.count("retransmitted")),
            Counting::Established => self.client.count("established"),
            Counting::Packets { each } => self.arrived(each) / u64::from(each.max(1)),
        }
    }
    /// Packets that arrived of those that the attempted transactions have, less those that arrived beyond that.
    fn arrived(&self, each: u32) -> u64 {
        let expected = self.attempted() * u64::from(each);
        let arrived = self.client.count("packets-received") + self.server.count("packets-received");
        expected.saturating_sub(expected.abs_diff(arrived))
    }
    /// The result for a search over connections or transactions of which so many were to be opened.
    pub(super) fn result(&self, counting: Counting, intended: u64) -> Result<TrialResult, Error> {
        let (each, received) = match counting {
            Counting::Packets { each } => (u64::from(each), self.arrived(each)),
            _ => (1, self.counted(counting)),
        };
        Ok(TrialResult {
            intended: intended * each,
            sent: self.attempted() * each,
            received,
            sending: Seconds::new(self.opening.max(1e-6))?,
            effective: Seconds::new(self.effective)?,
        })
    }
    /// Connections per second.
    pub fn rate(&self, counting: Counting) -> f64 {
        self.counted(counting) as f64 / self.client.seconds().max(1e-9)
    }
    /// Packets that did not arrive, from the clients to the servers and back.
    pub fn lost(&self) -> [u64; 2] {
        let lost = |from: &Ends, to: &Ends| from.count("packets-sent").saturating_sub(to.count("packets-received"));
        [lost(&self.client, &self.server), lost(&self.server, &self.client)]
    }
    /// Who was the limit. `ceiling` is the generator's; without one there is no device.
    pub(super) fn judge(&self, ceiling: Option<f64>) -> Limit {
        let unsent = self.client.count("unsent") as f64 > UNSENT * self.client.count("due") as f64;
        let is_at_ceiling = ceiling.is_some_and(|ceiling| self.rate(Counting::Closed) >= AT_CEILING * ceiling);
        let is_lossy = self.lost().iter().sum::<u64>() > 0 || self.client.count("failed") > 0;
        match (ceiling, self.intended) {
            _ if is_at_ceiling => Limit::Generator,
            (None, None) => Limit::Generator,
            (None, Some(_)) if unsent || is_lossy => Limit::Generator,
            (Some(_), _) if is_lossy => Limit::Device,
            (_, Some(_)) if unsent => Limit::Generator,
            (_, Some(_)) => Limit::Load,
            // As many as its connections allow: each waits for the device.
            (Some(_), None) => Limit::Device,
        }
    }
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "intended": self.intended,
            "rate": self.rate(Counting::Closed),
            "established-rate": self.rate(Counting::Established),
            "client": self.client.shown,
            "server": self.server.shown,
            "lost": {"to-server": self.lost()[0], "to-client": self.lost()[1]},
            "losses": self.losses,
            "busy-ticks": self.ticks,
            "server-busy-ticks": self.server_ticks,
            "resident": self.resident,
            "resident-before": self.resident_before,
            "seconds": self.effective,
            "limit": self.limit.word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(client: Value, server: Value, intended: Option<f64>) -> Trial {
        let (client, server) = (Ends { shown: client }, Ends { shown: server });
        let losses = BTreeMap::new();
        Trial {
            client,
            server,
            intended,
            begun: SystemTime::UNIX_EPOCH,
            opening: 1.0,
            effective: 1.0,
            losses,
            ticks: 0,
            server_ticks: None,
            resident: vec![],
            resident_before: vec![],
            limit: Limit::Load,
        }
    }

    #[test]
    fn the_limit_is_who_lost_or_was_late() {
        let second = 1_000_000_000;
        let client = json!({"attempted": 1000, "closed": 1000, "established": 1000, "due": 1000, "unsent": 0, "packets-sent": 4000,
            "packets-received": 3000, "retransmitted": 0, "first-at": 5, "last-at": second + 5});
        let server = json!({"packets-sent": 3000, "packets-received": 4000});
        let fine = trial(client.clone(), server.clone(), Some(1000.0));
        assert_eq!((fine.rate(Counting::Closed), fine.lost()), (1000.0, [0, 0]));
        assert_eq!(
            [fine.judge(Some(1e6)), fine.judge(Some(1000.0)), fine.judge(None)],
            [Limit::Load, Limit::Generator, Limit::Load]
        );
        let mut late = client.clone();
        late["unsent"] = 2.into();
        assert_eq!(trial(late, server.clone(), Some(1000.0)).judge(Some(1e6)), Limit::Generator);
        let mut lossy = client.clone();
        (lossy["retransmitted"], lossy["packets-sent"]) = (3.into(), 4003.into());
        let lossy = trial(lossy, server.clone(), Some(1000.0));
        assert_eq!((lossy.judge(Some(1e6)), lossy.judge(None)), (Limit::Device, Limit::Generator));
        assert_eq!([Counting::Closed, Counting::Established].map(|counting| lossy.counted(counting)), [997, 1000]);
        assert_eq!(trial(client, server, None).judge(None), Limit::Generator);
    }

    #[test]
    fn a_transaction_loses_what_did_not_come_and_what_was_not_expected() {
        let rule = Counting::Packets { each: 10 };
        for (received, counted) in
            [([500_u64, 500], 100), ([499, 500], 99), ([500, 502], 99), ([0, 0], 0), ([2000, 500], 0)]
        {
            let client = json!({"attempted": 100, "packets-received": received[0]});
            let trial = trial(client, json!({"packets-received": received[1]}), Some(100.0));
            assert_eq!(trial.counted(rule), counted, "{received:?}");
            let result = trial.result(rule, 120).expect("a result");
            let lost = 1000_u64.abs_diff(received.iter().sum::<u64>()).min(1000);
            assert_eq!((result.intended, result.sent, result.received), (1200, 1000, 1000 - lost), "{received:?}");
        }
    }
}

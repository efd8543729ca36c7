//! One run: what is asked of it, and what came of it.

use clap::ValueEnum;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// A bug that is planted for the simulation to find: the test of the tester.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// Reclamation frees at once
    SkippedGracePeriod,
    /// Packets that a full transmit queue refuses are freed twice.
    DoubleFree,
    /// Of several bundles that were handed to a worker, it sees the first one only
    LostHandoff,
}

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Steps before everything comes to rest.
    pub steps: u64,
    /// The bug to plant.
    pub bug: Option<Bug>,
    /// Whether to print every event.
    pub print: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { steps: 4000, bug: None, print: false }
    }
}

/// Counts of a run.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Steps made, those to rest included.
    pub steps: u64,
    /// Nanoseconds that passed.
    pub time: u64,
    /// Packets that workers took.
    pub taken: u64,
    /// Packets of peers that left.
    pub left: u64,
    /// Packets of IPv6 that left, and packets that left in fragments.
    pub left6: u64,
    /// See there.
    pub cut: u64,
    /// Packets that left inside datagrams of tunnels, or out of one.
    pub tunneled: Tunneled,
    /// Packets that left while it was known what was configured, so that it could be told whether they might.
    pub judged: u64,
    /// Packets that left, by what the routes were that they met ([`KINDS`](crate::network::KINDS)), and whether they were of IPv6.
    pub met: BTreeMap<(&'static str, bool), u64>,
    /// Requests answered.
    pub answered: u64,
    /// Requests refused.
    pub refused: u64,
    /// Configurations that were seen to be in force.
    pub configurations: u64,
    /// Packets handed from worker to worker.
    pub handed_over: u64,
    /// Naps that workers took.
    pub naps: u64,
    /// Times that a coroutine was stopped at a seam while another ran.
    pub preempted: u64,
    /// Drops by node and reason.
    pub drops: BTreeMap<(&'static str, &'static str), u64>,
    /// A number that follows from all events.
    pub digest: u64,
}

/// Packets that left by way of tunnels.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tunneled {
    /// Inside a tunnel's datagram.
    pub into: u64,
    /// Packets that a route led into a tunnel.
    pub routed: u64,
    /// Packets inside several tunnels, one in the other.
    pub deep: u64,
    /// Taken out of a tunnel's datagram.
    pub out_of: u64,
}

impl AddAssign for Tunneled {
    fn add_assign(&mut self, other: Tunneled) {
        self.into += other.into;
        self.routed += other.routed;
        self.deep += other.deep;
        self.out_of += other.out_of;
    }
}

/// A run that found something.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The step.
    pub step: u64,
    /// The failure.
    pub what: String,
    /// The last events.
    pub events: Vec<String>,
    /// Settings of the run, needed to replay it.
    pub settings: Settings,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, step, what, events, settings } = self;
        events.iter().try_for_each(|event| writeln!(f, "{event}"))?;
        write!(f, "seed {seed}, step {step}: {what}\nall of it: cargo xtask simulate --seed {seed}")?;
        if settings.steps != Settings::default().steps {
            write!(f, " --steps {}", settings.steps)?;
        }
        match settings.bug.and_then(|bug| bug.to_possible_value()) {
            Some(bug) => write!(f, " --bug {}", bug.get_name()),
            None => Ok(()),
        }
    }
}

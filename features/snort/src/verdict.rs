//! Verdicts of inspectors.

/// A verdict about a packet, by the number that the protocol has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The packet passes.
    Pass = 0,
    /// The packet is dropped.
    Block = 1,
    /// The packet passes with the bytes that the inspector wrote.
    Replace = 2,
    /// The packet passes, and so does its flow.
    Whitelist = 3,
    /// The packet is dropped, and so is its flow.
    Blacklist = 4,
    /// The packet passes, and its flow is of no interest.
    Ignore = 5,
}

impl Verdict {
    /// All, by their numbers.
    pub const ALL: [Verdict; 6] =
        [Verdict::Pass, Verdict::Block, Verdict::Replace, Verdict::Whitelist, Verdict::Blacklist, Verdict::Ignore];
    /// Their number.
    pub const COUNT: usize = Verdict::ALL.len();
    /// Verdicts that drop a packet unless an instance says otherwise, a bit each.
    pub const DROPPING: u8 = 1 << Verdict::Block as u8 | 1 << Verdict::Blacklist as u8;

    /// The verdict of a number.
    pub fn of(number: u32) -> Option<Verdict> {
        Verdict::ALL.get(number as usize).copied()
    }
    /// Its name, as VPP prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Block => "BLOCK",
            Verdict::Replace => "REPLACE",
            Verdict::Whitelist => "WHITELIST",
            Verdict::Blacklist => "BLACKLIST",
            Verdict::Ignore => "IGNORE",
        }
    }
    /// Whether it is among those of a bitmap.
    pub fn is_in(self, bitmap: u8) -> bool {
        bitmap & 1 << self as u8 != 0
    }
    /// Whether further packets of the flow pass, if the verdict is about these.
    pub fn of_flow(self) -> Option<bool> {
        match self {
            Verdict::Whitelist | Verdict::Ignore => Some(true),
            Verdict::Blacklist => Some(false),
            Verdict::Pass | Verdict::Block | Verdict::Replace => None,
        }
    }
}

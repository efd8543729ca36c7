//! Columns of the Parquet file: name, type, meaning, and the place of the value in a document.

use std::time::Duration;

use quiver_energy::Energy;
use quiver_result::{Amount, Busy, Document, Figure, Outcome, Rate, Stored, Time, Trial};

/// The type of a column. All may be null: what was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number from 0 on.
    Count,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A moment in UTC, in microseconds.
    Time,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "as of Kind")]
pub enum Cell {
    Text(String),
    Count(u64),
    Number(f64),
    Flag(bool),
    Time(i64),
}

/// Where the values of a column are.
pub enum Source {
    /// One for a document.
    One(fn(&Stored) -> Option<Cell>),
    /// A list of texts.
    Texts(fn(&Document) -> Vec<String>),
    /// One for each trial.
    Trial(fn(&Trial) -> Option<Cell>),
    /// One for each figure.
    Figure(fn(&Figure) -> Option<Cell>),
}

/// A column.
pub struct Column {
    /// Its name; in the lists `trials` and `figures`, that of a field.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The column's description.
    pub about: &'static str,
    /// Where its values are.
    pub source: Source,
}

impl Column {
    /// The list that it is a field of.
    pub fn list(&self) -> Option<&'static str> {
        match self.source {
            Source::One(_) | Source::Texts(_) => None,
            Source::Trial(_) => Some("trials"),
            Source::Figure(_) => Some("figures"),
        }
    }

    /// The type's name in SQL.
    pub fn sql(&self) -> &'static str {
        match (self.kind, &self.source) {
            (_, Source::Texts(_)) => "VARCHAR[]",
            (Kind::Text, _) => "VARCHAR",
            (Kind::Count, _) => "UBIGINT",
            (Kind::Number, _) => "DOUBLE",
            (Kind::Flag, _) => "BOOLEAN",
            (Kind::Time, _) => "TIMESTAMP WITH TIME ZONE",
        }
    }
}

macro_rules! columns {
    ($($source:ident { $($name:literal $kind:ident $about:literal = $from:expr;)* })*) => {
        /// All columns, in the file's order.
        pub const COLUMNS: &[Column] = &[$($(
            Column { name: $name, kind: Kind::$kind, about: $about, source: Source::$source($from) },
        )*)*];
    };
}

columns! {
    One {
        "document" Text "the file or URL it was read from" = |stored| text(&stored.path.display().to_string());
        "test_id" Text "suite and case" = |stored| text(&stored.document.test_id);
        "test_name" Text "the case" = |stored| text(&stored.document.test_name_long);
        "test_type" Text "as of CSIT" = |stored| text(&format!("{:?}", stored.document.test_type).to_lowercase());
        "passed" Flag "whether it passed" = |stored| Some(Cell::Flag(stored.document.passed));
        "message" Text "why it did not" = |stored| text(&stored.document.message);
        "start_time" Time "when it began" = |stored| time(stored.document.start_time);
        "duration_s" Number "how long it took" = |stored| number(stored.document.duration);
        "dut_type" Text "the device" = |stored| text(&stored.document.dut_type);
        "dut_version" Text "its version" = |stored| text(&stored.document.dut_version);
        "tg_type" Text "the generator" = |stored| text(&stored.document.tg_type);
        "tg_version" Text "its version" = |stored| text(&stored.document.tg_version);
        "mrr" Number "MRR: the average rate that comes back, a second" = |stored| match &stored.document.result {
            Outcome::Mrr { receive_rate } => number(receive_rate.rate.avg),
            _ => None,
        };
        "mrr_stdev" Number "and its deviation" = |stored| match &stored.document.result {
            Outcome::Mrr { receive_rate } => number(receive_rate.rate.stdev),
            _ => None,
        };
        "ndr" Number "the highest good rate without loss, both directions" = |stored| match &stored.document.result {
            Outcome::Ndrpdr { ndr, .. } => rate(&ndr.lower),
            _ => None,
        };
        "ndr_upper" Number "the lowest bad one" = |stored| match &stored.document.result {
            Outcome::Ndrpdr { ndr, .. } => ndr.upper.as_ref().and_then(rate),
            _ => None,
        };
        "pdr" Number "the same with 0.5 % loss" = |stored| match &stored.document.result {
            Outcome::Ndrpdr { pdr, .. } => rate(&pdr.lower),
            _ => None,
        };
        "pdr_upper" Number "the lowest bad one" = |stored| match &stored.document.result {
            Outcome::Ndrpdr { pdr, .. } => pdr.upper.as_ref().and_then(rate),
            _ => None,
        };
        "critical_rate" Number "soak: the critical rate, less its deviation" = |stored| match &stored.document.result {
            Outcome::Soak { critical_rate } => rate(&critical_rate.lower),
            _ => None,
        };
        "critical_rate_upper" Number "and more" = |stored| match &stored.document.result {
            Outcome::Soak { critical_rate } => critical_rate.upper.as_ref().and_then(rate),
            _ => None,
        };
        "lost_packets" Number "reconf: packets lost" = |stored| match &stored.document.result {
            Outcome::Reconf { loss, .. } => number(loss.packet.value),
            _ => None,
        };
        "blocked_s" Number "reconf: for how long all would have been" = |stored| match &stored.document.result {
            Outcome::Reconf { loss, .. } => number(loss.time.value),
            _ => None,
        };
        "bandwidth" Number "hoststack: bits a second" = |stored| match &stored.document.result {
            Outcome::Hoststack { bandwidth, .. } => number(bandwidth.value),
            _ => None,
        };
        "architecture" Text "of the machine" = |stored| machine(stored, |machine| text(&machine.architecture));
        "processor" Text "its model" = |stored| machine(stored, |machine| text(&machine.processor));
        "cores" Count "that may be used" = |stored| machine(stored, |machine| Some(Cell::Count(machine.cores.into())));
        "memory_bytes" Count "of the machine" = |stored| machine(stored, |machine| Some(Cell::Count(machine.memory_bytes)));
        "kernel" Text "name and release" = |stored| machine(stored, |machine| text(&machine.kernel));
        "json" Text "the document itself, from which the dashboard is made" = |stored| stored.document.text().ok().as_deref().and_then(text);
    }
    Texts {
        "hosts" Text "machines that took part" = |document| document.hosts.clone();
        "tags" Text "as of the suite" = |document| document.tags.clone();
    }
    Trial {
        "start_time" Time "when it began" = |trial| time(trial.start_time);
        "device" Text "what was measured" = |trial| text(&trial.device);
        "load_pps" Number "sent in one direction" = |trial| number(trial.load_pps);
        "intended_s" Number "how long" = |trial| number(trial.intended_seconds);
        "effective_s" Number "how long it took in all" = |trial| number(trial.effective_seconds);
        "sent_packets" Count "both directions" = |trial| Some(Cell::Count(trial.sent_packets));
        "received_packets" Count "both directions" = |trial| Some(Cell::Count(trial.received_packets));
        "named_losses" Count "packets that some counter accounts for" = |trial| {
            Some(Cell::Count(trial.losses.values().fold(0, |sum, count| sum.saturating_add(*count))))
        };
        "is_limited_by_generator" Flag "not by the device" = |trial| Some(Cell::Flag(trial.is_limited_by_generator));
        "repeated_because" Text "why it does not count" = |trial| trial.repeated_because.as_deref().and_then(text);
        "busy_measure" Text "how the cost of a packet is known" = |trial| trial.busy.as_ref().and_then(|busy| text(known(busy).0));
        "busy_per_packet" Number "ticks, cycles or nanoseconds" = |trial| trial.busy.as_ref().and_then(|busy| number(known(busy).1));
        "load_average" Number "of the last minute" = |trial| trial.load_average.and_then(number);
        "steal_s" Number "CPU seconds that the host took away" = |trial| trial.steal_seconds.and_then(number);
        "clock_hz" Number "of the device's core" = |trial| trial.clock_hz.and_then(number);
        "joules" Number "energy, where there is a sensor" = |trial| match trial.energy {
            Some(Energy::Joules { joules, .. }) => Some(Cell::Number(joules)),
            _ => None,
        };
        "cpu_s" Number "CPU seconds of the device, where there is none" = |trial| match trial.energy {
            Some(Energy::CpuSeconds { cpu_seconds, .. }) => Some(Cell::Number(cpu_seconds)),
            _ => None,
        };
    }
    Figure {
        "name" Text "what CSIT has no type for" = |figure| text(&figure.name);
        "value" Number "its value" = |figure| number(figure.value);
        "unit" Text "what that counts" = |figure| text(&figure.unit);
    }
}

fn text(text: &str) -> Option<Cell> {
    Some(Cell::Text(text.to_owned()))
}

fn number(amount: Amount) -> Option<Cell> {
    Some(Cell::Number(amount.get()))
}

fn rate(rate: &Rate) -> Option<Cell> {
    number(rate.rate.value)
}

fn time(time: Time) -> Option<Cell> {
    let since = time.since(Time::unix(Duration::ZERO).ok()?)?;
    i64::try_from(since.as_micros()).ok().map(Cell::Time)
}

fn machine(stored: &Stored, value: impl Fn(&quiver_result::Machine) -> Option<Cell>) -> Option<Cell> {
    stored.document.quiver.as_ref().and_then(|extension| value(&extension.machine))
}

fn known(busy: &Busy) -> (&'static str, Amount) {
    match busy {
        Busy::ThreadTicks { ticks_per_packet } => ("thread-ticks", *ticks_per_packet),
        Busy::NodeClocks { ticks_per_packet, .. } => ("node-clocks", *ticks_per_packet),
        Busy::CoreCycles { ticks_per_packet, .. } => ("core-cycles", *ticks_per_packet),
        Busy::CpuTime { nanoseconds_per_packet } => ("cpu-time", *nanoseconds_per_packet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `UPDATE=1` writes it.
    #[test]
    fn the_page_lists_all_columns() {
        let mut table = String::from("| column | type | |\n|---|---|---|\n");
        for column in COLUMNS {
            let list = column.list().map(|list| format!("{list}[].")).unwrap_or_default();
            table += &format!("| `{list}{}` | {} | {} |\n", column.name, column.sql(), column.about);
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (start, rest) = page.split_once("<!-- columns -->\n").unwrap();
        let end = rest.split_once("<!-- end -->\n").unwrap().1;
        let wanted = format!("{start}<!-- columns -->\n{table}<!-- end -->\n{end}");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert_eq!(page, wanted, "UPDATE=1 writes it");
        }
    }
}

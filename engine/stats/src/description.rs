//! Descriptions of entries: what people and systems that gather metrics read of them. Clients of the segment do not see
//! descriptions, since VPP's format has no place for them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// By what the cells of a vector are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One cell for each thread.
    Thread,
    /// A row for each thread, a cell for each interface.
    Interface,
    /// The same; the entry's name ends in the number of the receive queue.
    ReceiveQueue,
    /// A row for each thread, a cell for each node.
    Node,
    /// A row for each thread, a cell for each name of another entry.
    Named(Naming),
}

/// Labels of the cells of a vector: those of rooms, whose cells are no interfaces and no nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Label by which the cells are told apart, such as `tenant`.
    pub label: &'static str,
    /// The entry with the label's values, by cell. Cells without a value are not in use.
    pub names: &'static str,
    /// Label of the last part of the entry's name, where entries differ in it.
    pub last: Option<&'static str>,
}

/// Description of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// One sentence. `{}` stands for `Packets` or `Bytes` where the entry has both.
    pub help: Cow<'static, str>,
    /// Unit, where the entry's name does not end in it.
    pub unit: Option<&'static str>,
    /// Whether values fall, too. Those of an interface then have one row, whatever the threads.
    pub is_gauge: bool,
    /// Whether 0 means that the value is unknown.
    pub is_unknown_at_zero: bool,
    /// By what a vector's cells are indexed.
    pub index: Index,
    /// Name of the metric, where the entry's name, which clients of VPP know, does not give it.
    pub metric: Option<&'static str>,
}

impl Description {
    /// The description of a number, or of a vector with a cell for each thread.
    pub fn of(help: impl Into<Cow<'static, str>>) -> Description {
        let help = help.into();
        let (unit, metric) = (None, None);
        Description { help, unit, is_gauge: false, is_unknown_at_zero: false, index: Index::Thread, metric }
    }
    /// The description of counters by interface.
    pub fn by_interface(help: impl Into<Cow<'static, str>>) -> Description {
        Description { index: Index::Interface, ..Description::of(help) }
    }
    /// The description of counters whose cells have names.
    pub fn by_name(help: impl Into<Cow<'static, str>>, naming: Naming) -> Description {
        Description { index: Index::Named(naming), ..Description::of(help) }
    }
    /// The same with another name of the metric than the entry's.
    pub fn metric(self, metric: &'static str) -> Description {
        Description { metric: Some(metric), ..self }
    }
    /// The same of values that rise and fall, though VPP has them as counters.
    pub fn gauge(self) -> Description {
        Description { is_gauge: true, ..self }
    }
    /// The same with a unit.
    pub fn unit(self, unit: &'static str) -> Description {
        Description { unit: Some(unit), ..self }
    }
}

/// Descriptions by entry.
pub(crate) type Descriptions = HashMap<String, Arc<Description>>;

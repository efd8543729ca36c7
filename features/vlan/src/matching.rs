//! The table by which a frame's tags find its sub-interface.

use std::collections::HashMap;

use quiver_engine::{Domain, Guard, INTERFACES_MAX, Paged, Publisher, Snapshot};
use quiver_interface::InterfaceId;
use quiver_table::{ExactError, ExactTable, ExactView, ExactWriter};

use crate::tags::{Tag, Tags};

/// Match of a sub-interface on one tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagPattern {
    /// It is not there, or not looked at.
    None,
    /// It is there.
    Any,
    /// It is this VLAN.
    Vlan(u16),
}

impl TagPattern {
    /// Thirteen bits of a key: no VLAN has the two highest values.
    fn bits(self) -> u64 {
        match self {
            TagPattern::None => 0x1000,
            TagPattern::Any => 0x1fff,
            TagPattern::Vlan(vlan) => u64::from(vlan & 0x0fff),
        }
    }
}

/// Which frames of an interface are a sub-interface's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Frames with these tags.
    Tagged {
        /// The ethertype of the outer tag.
        ethertype: u16,
        /// The outer tag.
        outer: TagPattern,
        /// The inner one.
        inner: TagPattern,
        /// Whether there may be no further tags.
        exact: bool,
    },
    /// Frames without a tag, or with a priority tag only.
    Untagged,
    /// Tagged ones that are no other sub-interface's.
    Default,
}

impl Pattern {
    /// The tags with which all frames of the sub-interface begin.
    pub fn leading(self) -> Vec<Tag> {
        let Pattern::Tagged { ethertype, outer, inner, .. } = self else { return vec![] };
        let named = |(ethertype, tag)| match tag {
            TagPattern::Vlan(tci) => Some(Tag { ethertype, tci }),
            TagPattern::Any | TagPattern::None => None,
        };
        [(ethertype, outer), (0x8100, inner)].into_iter().map_while(named).collect()
    }
    /// Whether it determines every tag of its frames: then layer 3 can send by the sub-interface with these tags.
    pub fn names_all(self) -> bool {
        match self {
            Pattern::Tagged { outer, inner, .. } => ![outer, inner].contains(&TagPattern::Any),
            Pattern::Untagged => true,
            Pattern::Default => false,
        }
    }
    /// The tags that it names, if it names all.
    pub fn tags(self) -> Option<Vec<Tag>> {
        self.names_all().then(|| self.leading())
    }
    fn key(self, parent: u32) -> u64 {
        match self {
            Pattern::Tagged { ethertype, outer, inner, .. } => key(parent, ethertype, outer, inner),
            Pattern::Untagged => key(parent, 0, TagPattern::None, TagPattern::None),
            Pattern::Default => key(parent, 0, TagPattern::Any, TagPattern::None),
        }
    }
    fn value(self, id: InterfaceId) -> u64 {
        let (count, exact) = match self {
            Pattern::Tagged { inner: TagPattern::None, exact, .. } => (1, exact),
            Pattern::Tagged { exact, .. } => (2, exact),
            Pattern::Untagged | Pattern::Default => (0, false),
        };
        u64::from(id.0) | count << 32 | u64::from(exact) << 40
    }
}

/// Never 0: the ethertype's bit is set, or the outer pattern's highest.
fn key(parent: u32, ethertype: u16, outer: TagPattern, inner: TagPattern) -> u64 {
    let announced = match ethertype {
        0 => 1,
        0x88a8 => 2,
        _ => 3,
    };
    announced << 60 | u64::from(parent) << 28 | outer.bits() << 14 | inner.bits()
}

/// A sub-interface that frames belong to, and how many of their tags say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchedSubInterface {
    /// The sub-interface.
    pub interface: u32,
    /// Tags that are its, the rest is payload.
    pub tags: usize,
}

/// The most specific sub-interface of `parent` for these tags.
#[inline(always)]
pub fn find(table: &ExactView, parent: u32, tags: &Tags) -> Option<MatchedSubInterface> {
    find_by(|key| table.get(key), parent, tags)
}

/// The same with a function that reads the table.
#[inline(always)]
fn find_by(get: impl Fn(u64) -> Option<u64>, parent: u32, tags: &Tags) -> Option<MatchedSubInterface> {
    let [outer, inner] = tags.first;
    if tags.count == 0 || tags.count == 1 && outer.vlan() == 0 {
        return found(get(Pattern::Untagged.key(parent))?, tags.count);
    }
    let (o, i) = (TagPattern::Vlan(outer.vlan()), TagPattern::Vlan(inner.vlan()));
    const ANY: TagPattern = TagPattern::Any;
    let two = [(o, i), (o, ANY), (ANY, i), (ANY, ANY)];
    let one = [(o, TagPattern::None), (ANY, TagPattern::None)];
    let two = if tags.count > 1 { &two[..] } else { &[] };
    for (o, i) in two.iter().chain(&one) {
        let value = get(key(parent, outer.ethertype, *o, *i));
        if let Some(sub) = value.and_then(|value| found(value, tags.count)) {
            return Some(sub);
        }
    }
    found(get(Pattern::Default.key(parent))?, tags.count)
}

/// Decodes a table value; none if the match is exact and the frame has a different number of tags.
fn found(value: u64, count: usize) -> Option<MatchedSubInterface> {
    let (interface, tags, exact) = (value as u32, (value >> 32 & 0xff) as usize, value >> 40 & 1 != 0);
    (!exact || count == tags).then_some(MatchedSubInterface { interface, tags })
}

/// A sub-interface as the nodes see it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Part {
    /// Whether it is one.
    pub exists: bool,
    /// Whether it was set up.
    pub up: bool,
    /// Leading tags of its frames.
    pub tags: [Tag; 2],
    /// Number of these tags.
    pub count: u8,
    /// Whether these are all that make a frame the sub-interface's.
    pub names_all: bool,
}

/// All sub-interfaces.
pub struct SubInterfaces {
    table: ExactWriter,
    parts: Publisher<Paged<Part>>,
    /// By parent interface: number of its sub-interfaces, and of those that take untagged frames.
    counts: HashMap<InterfaceId, (usize, usize)>,
}

/// Sub-interfaces there can be: interface numbers there are.
const SUB_INTERFACES_MAX: usize = INTERFACES_MAX as usize;

impl SubInterfaces {
    pub(crate) fn new(epochs: &Domain) -> Result<SubInterfaces, ExactError> {
        // Keys are configured, not sent by strangers.
        let table = ExactWriter::new(epochs, SUB_INTERFACES_MAX, 0)?;
        Ok(SubInterfaces { table, parts: Publisher::new(epochs, Paged::default()), counts: HashMap::new() })
    }
    pub(crate) fn table(&self) -> ExactTable {
        self.table.reader()
    }
    pub(crate) fn snapshot(&self) -> Snapshot<Paged<Part>> {
        self.parts.snapshot()
    }
    /// The sub-interface that has a pattern already.
    pub(crate) fn owner(&self, parent: InterfaceId, pattern: Pattern) -> Option<InterfaceId> {
        self.table.get(pattern.key(parent.0)).map(|row| InterfaceId(row.value as u32))
    }
    /// The sub-interface that has frames with these tags.
    pub(crate) fn find(&self, parent: InterfaceId, tags: &Tags) -> Option<InterfaceId> {
        let found = find_by(|key| Some(self.table.get(key)?.value), parent.0, tags)?;
        Some(InterfaceId(found.interface))
    }
    pub(crate) fn add(&mut self, parent: InterfaceId, pattern: Pattern, id: InterfaceId) -> Result<(), ExactError> {
        self.table.insert(pattern.key(parent.0), pattern.value(id), 0)?;
        let (tags, names_all) = (pattern.leading(), pattern.names_all());
        let mut part = Part { exists: true, count: tags.len() as u8, names_all, ..Part::default() };
        for (place, tag) in part.tags.iter_mut().zip(tags) {
            *place = tag;
        }
        self.change(id, |place| *place = part);
        let (all, untagged) = self.counts.entry(parent).or_default();
        (*all, *untagged) = (*all + 1, *untagged + usize::from(pattern == Pattern::Untagged));
        Ok(())
    }
    /// Whether an interface has parts, and whether one of them takes frames without a tag.
    pub(crate) fn expects(&self, parent: InterfaceId) -> (bool, bool) {
        self.counts.get(&parent).map_or((false, false), |(all, untagged)| (*all > 0, *untagged > 0))
    }
    pub(crate) fn remove(&mut self, parent: InterfaceId, pattern: Pattern, id: InterfaceId) {
        if self.table.remove(pattern.key(parent.0)).is_some()
            && let Some((all, untagged)) = self.counts.get_mut(&parent)
        {
            (*all, *untagged) = (*all - 1, *untagged - usize::from(pattern == Pattern::Untagged));
            if *all == 0 {
                self.counts.remove(&parent);
            }
        }
        self.change(id, |place| *place = Part::default());
    }
    pub(crate) fn set_up(&mut self, id: InterfaceId, up: bool) {
        self.change(id, |place| place.up = up);
    }
    /// The tags with which all frames of a sub-interface begin; none of another interface.
    pub(crate) fn leading(&self, id: InterfaceId) -> Vec<Tag> {
        let part = part(self.parts.current(), id.0);
        part.tags.into_iter().take(part.count.into()).collect()
    }
    /// Whether the tags of sent packets are determined. Interfaces that are no sub-interfaces need none.
    pub(crate) fn names_all(&self, id: InterfaceId) -> bool {
        let part = part(self.parts.current(), id.0);
        !part.exists || part.names_all
    }
    fn change(&mut self, id: InterfaceId, change: impl FnOnce(&mut Part)) {
        let mut parts = self.parts.current().clone();
        change(parts.get_mut(id.index()));
        self.parts.publish(parts);
    }
}

/// The part of an interface, as a node finds it.
#[inline(always)]
pub(crate) fn part(parts: &Paged<Part>, interface: u32) -> Part {
    parts.get(interface as usize).copied().unwrap_or_default()
}

/// View of the table for one turn of a node.
pub(crate) fn view<'g>(table: &ExactTable, guard: Guard<'g>) -> ExactView<'g> {
    table.view(guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(ethertype: u16, vlans: &[u16]) -> Tags {
        let mut tags = Tags { count: vlans.len(), ..Tags::default() };
        for (place, vlan) in tags.first.iter_mut().zip(vlans) {
            *place = Tag { ethertype, tci: 0xe000 | vlan };
        }
        tags
    }
    fn tagged(ethertype: u16, outer: TagPattern, inner: TagPattern, exact: bool) -> Pattern {
        Pattern::Tagged { ethertype, outer, inner, exact }
    }

    #[test]
    fn frames_begin_with_the_tags_that_are_named_up_to_the_first_that_is_not() {
        use TagPattern::*;
        let cases = [
            (tagged(0x88a8, Vlan(10), None, true), vec![(0x88a8, 10)], true),
            (tagged(0x88a8, Vlan(10), Vlan(20), false), vec![(0x88a8, 10), (0x8100, 20)], true),
            (tagged(0x8100, Vlan(60), Any, false), vec![(0x8100, 60)], false),
            (tagged(0x8100, Any, Vlan(20), true), vec![], false),
            (tagged(0x8100, Any, None, true), vec![], false),
            (Pattern::Default, vec![], false),
            (Pattern::Untagged, vec![], true),
        ];
        for (pattern, leading, names_all) in cases {
            let found: Vec<_> = pattern.leading().iter().map(|tag| (tag.ethertype, tag.tci)).collect();
            assert_eq!((found, pattern.names_all()), (leading, names_all), "{pattern:?}");
        }
    }

    #[test]
    fn the_most_specific_sub_interface_wins() {
        use TagPattern::*;
        let epochs = Domain::new();
        let mut subs = SubInterfaces::new(&epochs).unwrap();
        let parent = InterfaceId(7);
        let patterns = [
            tagged(0x8100, Vlan(10), None, true),
            tagged(0x8100, Vlan(10), Vlan(20), true),
            tagged(0x8100, Vlan(10), Any, false),
            tagged(0x8100, Any, Vlan(30), true),
            tagged(0x8100, Vlan(11), None, false),
            tagged(0x8100, Any, None, true),
            Pattern::Untagged,
            Pattern::Default,
            tagged(0x88a8, Vlan(10), None, true),
        ];
        for (id, pattern) in patterns.iter().enumerate() {
            subs.add(parent, *pattern, InterfaceId(id as u32)).unwrap();
        }
        let reader = epochs.register();
        let table = subs.table();
        let view = table.view(reader.guard());
        let cases: [(&[u16], u32, usize); 11] = [
            (&[10], 0, 1),
            (&[10, 20], 1, 2),
            (&[10, 21], 2, 2),
            (&[10, 20, 1], 2, 2),
            (&[9, 30], 3, 2),
            (&[11], 4, 1),
            (&[11, 5], 4, 1),
            (&[12], 5, 1),
            (&[12, 5], 7, 0),
            (&[0], 6, 0),
            (&[], 6, 0),
        ];
        for (vlans, interface, count) in cases {
            assert_eq!(
                find(&view, 7, &tags(0x8100, vlans)),
                Some(MatchedSubInterface { interface, tags: count }),
                "{vlans:?}"
            );
        }
        assert_eq!(find(&view, 7, &tags(0x88a8, &[10])).map(|found| found.interface), Some(8));
        assert_eq!(find(&view, 6, &tags(0x8100, &[10])), Option::None);
        for (id, pattern) in patterns.iter().enumerate() {
            subs.remove(parent, *pattern, InterfaceId(id as u32));
        }
        assert_eq!(find(&view, 7, &tags(0x8100, &[10])), Option::None);
    }
}

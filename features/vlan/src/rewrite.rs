//! Tag rewrite of an interface in layer 2: its objects and commands.

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_wire::VlanId;

use crate::edit::{Edit, INPUT, OUTPUT, Rewrites};
use crate::matching::SubInterfaces;
use crate::tags::Tag;

quiver_control::choice! {
    /// EtherType of the pushed outer tag.
    pub enum TagType {
        /// 0x8100, IEEE 802.1Q.
        Dot1q = "dot1q",
        /// 0x88a8, IEEE 802.1ad.
        Dot1ad = "dot1ad",
    } as "tag-type", "dot1q or dot1ad";
}

/// VLAN tag rewrite of a layer-2 interface: pop and push for received frames, the reverse for transmitted ones.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "tag-rewrites")]
pub struct TagRewrite {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Number of tags to pop from received frames, 0 to 2.
    #[default(0)]
    pub pop: u8,
    /// VLAN ids to push on received frames, the outer one first; at most two.
    pub push: Vec<VlanId>,
    /// EtherType of the outer pushed tag.
    #[default(TagType::Dot1q)]
    pub tag_type: TagType,
}

fn check(rewrite: &TagRewrite) -> Result<(), ObjectError> {
    match (rewrite.pop, rewrite.push.len()) {
        (0, 0) => Err(ObjectError::whole("it does nothing").remedy("give 'pop' or 'push', or leave the object out")),
        (0..=2, 0..=2) => Ok(()),
        (3.., _) => Err(ObjectError::field("pop", format!("{} are too many", rewrite.pop)).remedy("at most 2")),
        (_, more) => Err(ObjectError::field("push", format!("{more} are too many")).remedy("at most 2")),
    }
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run).arguments_of::<TagRewrite>());
    };
    add(
        "set interface l2 tag-rewrite <interface> (pop (1|2) | (push | translate (1-1|1-2|2-1|2-2)) \
         (dot1q|dot1ad) <vlan> [<inner:vlan>])",
        "Set the VLAN tag rewrite of a layer-2 interface.",
        set,
    );
    add("set interface l2 tag-rewrite <interface> disable", "Disable the VLAN tag rewrite of an interface.", disable);
}

fn apply(control: &Control, change: Change<'_, TagRewrite>) -> Result<(), ObjectError> {
    let (wanted, on) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&wanted.interface.0)?;
    let (input, output) = if on { edits(control, wanted, id)? } else { Default::default() };
    control.room_mut::<Rewrites>().set(id, input, output);
    let mut dataplane = control.room_mut::<Dataplane>();
    for (arc, node) in [("l2-input", INPUT), ("l2-output", OUTPUT)] {
        dataplane.enable(arc, node, id.0, on).map_err(|error| ObjectError::whole(error.to_string()))?;
    }
    Ok(())
}

/// The edits on the way in and, undoing them, on the way out.
fn edits(control: &Control, wanted: &TagRewrite, id: InterfaceId) -> Result<(Edit, Edit), ObjectError> {
    let outer = if wanted.tag_type == TagType::Dot1q { 0x8100 } else { 0x88a8 };
    let tag = |(place, vlan): (usize, &VlanId)| {
        // The tag behind another one is always a customer's.
        Tag { ethertype: if place == 0 { outer } else { 0x8100 }, tci: vlan.get() }
    };
    let push: Vec<Tag> = wanted.push.iter().enumerate().map(tag).collect();
    let own = control.room::<SubInterfaces>().leading(id);
    let pop = usize::from(wanted.pop);
    let Some(popped) = own.get(..pop) else {
        let what =
            format!("frames of {} begin with {} known tags, and {pop} are to be put back", wanted.interface, own.len());
        return Err(ObjectError::field("pop", what).remedy("use a sub-interface that names the tags"));
    };
    Ok((Edit::new(pop, &push), Edit::new(push.len(), popped)))
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut rewrite = TagRewrite::new(matches.get("interface")?);
    let translations = [("1-1", 1, 1), ("1-2", 1, 2), ("2-1", 2, 1), ("2-2", 2, 2)];
    let translation = translations.iter().find(|(word, ..)| matches.has(word));
    rewrite.pop = match translation {
        Some((_, pop, _)) => *pop,
        None if matches.has("pop") => {
            if matches.has("2") {
                2
            } else {
                1
            }
        }
        None => 0,
    };
    rewrite.push = matches.all("vlan")?;
    rewrite.push.extend(matches.find::<VlanId>("inner")?);
    if let Some((word, _, push)) = translation.filter(|(.., push)| *push != rewrite.push.len()) {
        let what = format!("{word} puts {push} on, and {} are given", rewrite.push.len());
        return Err(CommandError::new(what).at(matches.place(word)));
    }
    rewrite.tag_type = if matches.has("dot1ad") { TagType::Dot1ad } else { TagType::Dot1q };
    control.put(rewrite)?;
    Ok(Reply::done())
}

fn disable(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    leave(control, &matches.get("interface")?)?;
    Ok(Reply::done())
}

/// Leaves the tags of an interface's frames as they are.
pub(crate) fn leave(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    match control.objects().get::<TagRewrite>(interface) {
        Some(_) => control.delete::<TagRewrite>(interface),
        None => Ok(()),
    }
}

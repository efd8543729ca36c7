//! Sub-interfaces: their objects and commands.

use std::fmt;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::object::field::{Field, Problems};
use quiver_control::object::{ObjectRef, Place, Scalar};
use quiver_control::{Change, Control, Kind, Object, ObjectError, Pace};
use quiver_engine::Dataplane;
use quiver_interface::{
    InterfaceEvent, InterfaceName, Interfaces, NewInterface, create, remove, restricts_addresses, watch,
};
use quiver_wire::VlanId;
use serde_json::Value;

use crate::matching::{Pattern, SubInterfaces, TagPattern};
use crate::output;

/// The kind of these interfaces.
const KIND: &str = "sub-interface";

/// The name of a sub-interface: that of its parent, a dot, and a number. It refers to the parent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubInterfaceName {
    /// The interface that it is a part of.
    pub parent: InterfaceName,
    /// Its number.
    pub number: u32,
}

impl SubInterfaceName {
    /// Reads a name; none if it is no name of a part.
    pub fn parse(text: &str) -> Option<SubInterfaceName> {
        let (parent, digits) = text.rsplit_once('.')?;
        let number = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
        (!parent.is_empty()).then(|| SubInterfaceName { parent: InterfaceName(parent.into()), number })
    }
}
impl fmt::Display for SubInterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.parent, self.number)
    }
}
impl Field for SubInterfaceName {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        let name = value.as_str().and_then(SubInterfaceName::parse);
        if name.is_none() {
            problems.add(format!("{value} is no name of a sub-interface"), format!("expected {}", Self::expected()));
        }
        name
    }
    fn write(&self) -> Value {
        self.to_string().into()
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        self.parent.references(at, found);
    }
    fn expected() -> String {
        "the name of an interface, a dot and a number, such as tap0.10".into()
    }
    fn schema() -> Value {
        // Any number of 32 bits, without leading zeros.
        const NUMBER: &str = "(0|[1-9][0-9]{0,8}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|\
            4294[0-8][0-9]{5}|42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|\
            429496729[0-5])";
        serde_json::json!({"type": "string", "pattern": format!(r"^.+\.{NUMBER}$")})
    }
}

quiver_control::choice! {
    /// Which frames of its parent a sub-interface takes.
    pub enum Takes {
        /// Those tagged by IEEE 802.1Q.
        Dot1q = "dot1q",
        /// Those whose outer tag is IEEE 802.1ad's.
        Dot1ad = "dot1ad",
        /// Those without a VLAN.
        Untagged = "untagged",
        /// Tagged ones that no other sub-interface takes.
        Default = "default",
    } as "sub-interface-kind", "dot1q, dot1ad, untagged or default";
}

/// A VLAN, or whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyVlan {
    /// Whichever.
    Any,
    /// This VLAN.
    Vlan(VlanId),
}

impl fmt::Display for AnyVlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyVlan::Any => f.write_str("any"),
            AnyVlan::Vlan(vlan) => vlan.fmt(f),
        }
    }
}
impl Scalar for AnyVlan {
    const NAME: &'static str = "any-vlan";
    const EXPECTED: &'static str = "a VLAN from 1 to 4094, or any";
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "any" => Ok(AnyVlan::Any),
            text => Ok(AnyVlan::Vlan(VlanId::parse(text)?)),
        }
    }
    fn to_value(&self) -> Value {
        match self {
            AnyVlan::Any => "any".into(),
            AnyVlan::Vlan(vlan) => vlan.to_value(),
        }
    }
    fn number_schema() -> Option<Value> {
        VlanId::number_schema()
    }
}

/// VLAN sub-interface: the frames of an interface with certain tags.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "sub-interfaces", provides = "interface")]
pub struct SubInterface {
    /// Name: the parent interface, a dot and a number.
    #[key]
    pub name: SubInterfaceName,
    /// Kind of frames that it receives.
    #[fixed]
    #[default(Takes::Dot1q)]
    pub takes: Takes,
    /// Outer VLAN id of its frames.
    #[fixed]
    pub outer: Option<AnyVlan>,
    /// Inner VLAN id of its frames, if they have two tags.
    #[fixed]
    pub inner: Option<AnyVlan>,
    /// Whether its frames have no further tags. Layer 3 needs an exact match.
    #[fixed]
    #[default(true)]
    pub exact: bool,
}

impl SubInterface {
    /// The frames that it takes.
    pub(crate) fn pattern(&self) -> Result<Pattern, ObjectError> {
        let of = |vlan: Option<AnyVlan>| match vlan {
            None => TagPattern::None,
            Some(AnyVlan::Any) => TagPattern::Any,
            Some(AnyVlan::Vlan(vlan)) => TagPattern::Vlan(vlan.get()),
        };
        let ethertype = match self.takes {
            Takes::Dot1q => 0x8100,
            Takes::Dot1ad => 0x88a8,
            Takes::Untagged | Takes::Default if self.outer.is_some() || self.inner.is_some() => {
                let field = if self.outer.is_some() { "outer" } else { "inner" };
                return Err(ObjectError::field(field, format!("'{}' has no VLAN", self.takes)).remedy("leave it out"));
            }
            Takes::Untagged => return Ok(Pattern::Untagged),
            Takes::Default => return Ok(Pattern::Default),
        };
        if self.outer.is_none() {
            return Err(ObjectError::field("outer", "it is missing").remedy("give a VLAN from 1 to 4094, or any"));
        }
        Ok(Pattern::Tagged { ethertype, outer: of(self.outer), inner: of(self.inner), exact: self.exact })
    }
}

fn check(sub: &SubInterface) -> Result<(), ObjectError> {
    for (field, vlan) in [("outer", sub.outer), ("inner", sub.inner)] {
        if vlan == Some(AnyVlan::Vlan(VlanId::PRIORITY)) {
            return Err(ObjectError::field(field, "VLAN 0 is a priority tag").remedy("such frames are untagged ones"));
        }
    }
    sub.pattern().map(|_| ())
}

/// The VLANs from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VlanRange {
    first: u16,
    last: u16,
}

impl VlanRange {
    /// An error if it has no VLAN, or a number that is none.
    fn check(self) -> Result<(), String> {
        let VlanRange { first, last } = self;
        if first > last {
            return Err(format!("the range {first}-{last} is reversed; write {last}-{first}"));
        }
        match VlanId::new(first).is_ok_and(|first| first != VlanId::PRIORITY) && VlanId::new(last).is_ok() {
            true => Ok(()),
            false => Err(format!("the range {first}-{last} has numbers of no VLAN; VLANs are 1 to 4094")),
        }
    }
}

impl fmt::Display for VlanRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Scalar for VlanRange {
    const NAME: &'static str = "vlan-range";
    const EXPECTED: &'static str = "VLANs from one to another, such as 500-503";
    fn parse(text: &str) -> Result<VlanRange, String> {
        let numbers = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let (first, last) = numbers.ok_or_else(String::new)?;
        Ok(VlanRange { first, last })
    }
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).memory(|_| quiver_interface::MEMORY));
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<AnyVlan>());
    let add = |command: Command| control.commands().add(command.arguments_of::<SubInterface>());
    add(Command::new(
        "create sub-interfaces <interface> <number:u32> \
         [default | untagged | (dot1q|dot1ad) <outer:any-vlan> [inner-dot1q <inner:any-vlan>] [exact-match]]",
        "Create a VLAN sub-interface.",
        make,
    ));
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<VlanRange>());
    add(Command::waiting(
        "create sub-interfaces <interface> <range:vlan-range>",
        "Create a VLAN sub-interface for each VLAN of a range.",
        make_range,
    ));
    add(Command::waiting("delete sub-interface <interface>", "Delete a VLAN sub-interface.", delete));
    restricts_addresses(control, |control, interface| {
        if control.room::<SubInterfaces>().names_all(interface.id) {
            return Ok(());
        }
        let what = format!("{} does not name the VLAN tags with which it would have to send", interface.name);
        Err(ObjectError::field("interface", what).remedy("use a sub-interface that names them, by dot1q or dot1ad"))
    });
    // Parts follow the interfaces that they are.
    watch(control, |control, event| {
        if let InterfaceEvent::AdminState(id) = event {
            let interfaces = control.room::<Interfaces>();
            if let Some(interface) = interfaces.get(id).filter(|interface| interface.kind == KIND) {
                control.room_mut::<SubInterfaces>().set_up(id, interface.up);
            }
        }
    });
}

fn apply(control: &Control, change: Change<'_, SubInterface>) -> Result<(), ObjectError> {
    match change {
        Change::Create(sub) => add(control, sub)?,
        // Every field is fixed.
        Change::Update { .. } => return Ok(()),
        Change::Delete(sub) => {
            let (parent, id) = {
                let interfaces = control.room::<Interfaces>();
                (interfaces.id_of(&sub.name.parent.0)?, interfaces.id_of(&sub.name.to_string())?)
            };
            control.room_mut::<SubInterfaces>().remove(parent, sub.pattern()?, id);
            remove(control, id);
        }
    }
    let (Change::Create(sub) | Change::Delete(sub) | Change::Update { new: sub, .. }) = change;
    let parent = control.room::<Interfaces>().id_of(&sub.name.parent.0)?;
    let (tagged, untagged) = control.room::<SubInterfaces>().expects(parent);
    // A tag for a priority only does not make a frame a tagged one.
    quiver_ethernet::set_tags(control, parent, tagged, untagged);
    Ok(())
}

fn add(control: &Control, sub: &SubInterface) -> Result<(), ObjectError> {
    let pattern = sub.pattern()?;
    let (parent, mac, mtu) = {
        let interfaces = control.room::<Interfaces>();
        let id = interfaces.id_of(&sub.name.parent.0)?;
        let Some(parent) = interfaces.get(id).filter(|parent| parent.parent.is_none()) else {
            let what = format!("{} is a part itself", sub.name.parent);
            return Err(ObjectError::field("name", what).remedy("name the whole interface, and both tags"));
        };
        // Nothing comes in by an interface without queues but what the bridge delivers there: a part of it in a bridge
        // domain would send every flood round and round.
        if !control.room::<Dataplane>().has_port(id.0) {
            let what = format!("{} has no wire", sub.name.parent);
            return Err(ObjectError::field("name", what).remedy("name an interface of a driver"));
        }
        if let Some(other) = control.room::<SubInterfaces>().owner(id, pattern) {
            let what = format!("{} takes these frames already", interfaces.name(other));
            return Err(ObjectError::whole(what).remedy("choose other tags, or delete that one"));
        }
        (id, parent.mac, parent.mtu)
    };
    let new = NewInterface { name: sub.name.to_string(), kind: KIND, mac, mtu, parent: Some(parent), queues: None };
    let id = create(control, new)?;
    if let Err(error) = control.room_mut::<SubInterfaces>().add(parent, pattern, id) {
        remove(control, id);
        return Err(ObjectError::whole(error.to_string()));
    }
    let tagged = control.room_mut::<Dataplane>().enable("interface-output", output::NAME, id.0, true);
    tagged.map_err(|error| ObjectError::whole(error.to_string()))
}

fn make(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (parent, number) = (matches.get("interface")?, matches.get::<u32>("number")?);
    let mut sub = SubInterface::new(SubInterfaceName { parent, number });
    if matches.has("default") {
        sub.takes = Takes::Default;
    } else if matches.has("untagged") {
        sub.takes = Takes::Untagged;
    } else if matches.has("dot1q") || matches.has("dot1ad") {
        sub.takes = if matches.has("dot1q") { Takes::Dot1q } else { Takes::Dot1ad };
        sub.outer = matches.find("outer")?;
        sub.inner = matches.find("inner")?;
        sub.exact = matches.has("exact-match");
    } else {
        // A number alone is the VLAN, too.
        let vlan = VlanId::parse(&number.to_string());
        let vlan = vlan.map_err(|error| CommandError::new(error).at(matches.place("number")))?;
        sub.outer = Some(AnyVlan::Vlan(vlan));
    }
    if control.objects().get::<SubInterface>(&sub.name).is_some() {
        return Err(CommandError::new(format!("there is {} already", sub.name)).at(matches.place("number")));
    }
    let name = sub.name.to_string();
    control.put(sub)?;
    Ok(Reply::text(name))
}

/// A part for each VLAN of a range, or for none of them.
async fn make_range(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let (parent, range) = (matches.get::<InterfaceName>("interface")?, matches.get::<VlanRange>("range")?);
    range.check().map_err(|error| CommandError::new(error).at(matches.place("range")))?;
    let names =
        (range.first..=range.last).map(|vlan| (vlan, SubInterfaceName { parent: parent.clone(), number: vlan.into() }));
    let names: Vec<_> = names.collect();
    if let Some((_, taken)) = names.iter().find(|(_, name)| control.objects().get::<SubInterface>(name).is_some()) {
        return Err(CommandError::new(format!("there is {taken} already")).at(matches.place("range")));
    }
    let (mut pace, mut made) = (Pace::in_turns(&control), vec![]);
    for (vlan, name) in names {
        pace.step().await;
        let mut sub = SubInterface::new(name.clone());
        sub.outer = VlanId::new(vlan).ok().map(AnyVlan::Vlan);
        if let Err(error) = control.put(sub) {
            for made in &made {
                pace.step().await;
                control.delete::<SubInterface>(made)?;
            }
            return Err(error.into());
        }
        made.push(name);
    }
    let names: Vec<String> = made.iter().map(ToString::to_string).collect();
    Ok(Reply::new(names.join("\n"), names.into()))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    match SubInterfaceName::parse(&name).filter(|name| control.objects().get::<SubInterface>(name).is_some()) {
        Some(name) => control.delete_in_turns::<SubInterface>(&name).await?,
        None => {
            return Err(CommandError::new(format!("{name} is no sub-interface")).at(matches.place("interface")));
        }
    }
    Ok(Reply::done())
}

//! Special prefixes: what every table does with destinations that a router does not forward of itself (RFC 6890), and what is
//! configured in place of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_control::cli::{ArgumentKind, Command, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{Prefix, V4, V6};

use crate::family::Family;
use crate::fib::Special;
use crate::room::Ip;

quiver_control::choice! {
    /// What becomes of packets for a special prefix.
    pub enum SpecialAction {
        /// They vanish.
        Drop = "drop",
        /// Their senders are told that the host is unreachable.
        Unreachable = "unreachable",
        /// Their senders are told that it is prohibited.
        Prohibit = "prohibit",
        /// They are forwarded like others. Of IPv4, packets from there are accepted, too.
        Forward = "forward",
    } as "special-action", "drop, unreachable, prohibit or forward";
}

/// A prefix with which all tables deal alike, unless interfaces or routes of longer prefixes within it say otherwise: of the same
/// prefix, this counts.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.special_prefixes)]
pub struct SpecialPrefix<F: Family> {
    /// The destinations, such as 240.0.0.0/4.
    #[key]
    pub prefix: Prefix<F>,
    /// What becomes of packets for them.
    #[default(SpecialAction::Drop)]
    pub action: SpecialAction,
}

/// What tables do with special prefixes: what they do of themselves, and what was configured.
pub(crate) struct Specials<F: Family>(BTreeMap<Prefix<F>, Option<Special>>);

impl<F: Family> Default for Specials<F> {
    fn default() -> Specials<F> {
        Specials(built_in::<F>().map(|(prefix, special)| (prefix, Some(special))).collect())
    }
}

impl<F: Family> Specials<F> {
    /// The prefixes that have a route in every table.
    pub fn routes(&self) -> Vec<(Prefix<F>, Special)> {
        self.0.iter().filter_map(|(prefix, special)| Some((*prefix, (*special)?))).collect()
    }
    /// The prefixes whose packets are forwarded like others.
    pub fn ordinary(&self) -> Arc<[Prefix<F>]> {
        self.0.iter().filter(|(_, special)| special.is_none()).map(|(prefix, _)| *prefix).collect()
    }
    /// Notes what is configured of a prefix; None gives back what tables do of themselves. What becomes of its packets now.
    pub fn set(&mut self, prefix: Prefix<F>, action: Option<SpecialAction>) -> Option<Special> {
        let special = match action {
            Some(SpecialAction::Drop) => Some(Special::Drop),
            Some(SpecialAction::Unreachable) => Some(Special::Unreachable),
            Some(SpecialAction::Prohibit) => Some(Special::Prohibit),
            Some(SpecialAction::Forward) => None,
            None => {
                let special = built_in::<F>().find(|(known, _)| *known == prefix).map(|(_, special)| special);
                match special {
                    Some(special) => drop(self.0.insert(prefix, Some(special))),
                    None => drop(self.0.remove(&prefix)),
                }
                return special;
            }
        };
        self.0.insert(prefix, special);
        special
    }
}

fn built_in<F: Family>() -> impl Iterator<Item = (Prefix<F>, Special)> {
    F::SPECIAL.iter().filter_map(|(prefix, special)| Some((prefix.parse().ok()?, *special)))
}

pub(crate) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<SpecialAction>());
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply::<F>));
    let set =
        format!("set {} special-prefix <prefix:{}-prefix> (<action:special-action> | del)", F::NAMES.command, F::NAME);
    let help = "Choose what all tables do with a special prefix, or leave it to them.";
    let set = Command::new(set, help, |control, given| {
        let prefix = given.get("prefix")?;
        match given.find("action")? {
            Some(action) => control.put(SpecialPrefix { action, ..SpecialPrefix::<F>::new(prefix) })?,
            None => control.delete::<SpecialPrefix<F>>(&prefix)?,
        }
        Ok(Reply::done())
    });
    control.commands().add(set.arguments_of::<SpecialPrefix<F>>());
}

fn apply<F: Family>(control: &Control, change: Change<'_, SpecialPrefix<F>>) -> Result<(), ObjectError> {
    let (prefix, action) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new.prefix, Some(new.action)),
        Change::Delete(old) => (old.prefix, None),
    };
    let done = control.room_mut::<Ip<F>>().set_special(prefix, action);
    done.map_err(|error| ObjectError::whole(error.to_string()))
}

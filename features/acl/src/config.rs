//! The configured access control lists, and their settings.

use quiver_control::{Control, Object, ObjectError};
use quiver_interface::{Direction, InterfaceName};

use crate::lists::ACLS_MAX;
use crate::rules::Rules;

quiver_control::reference! {
    /// The number of a list.
    pub struct AclNumber(u32) in "acls";
}

/// Access control list: the first rule that matches a packet permits or denies it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acls")]
pub struct Acl {
    /// ACL index, 0 to 65535.
    #[key]
    pub id: u32,
    /// Tag for people, at most 63 bytes.
    pub tag: Option<String>,
    /// Rules in the order of evaluation.
    pub rules: Rules,
}

/// Rules of a list, at most.
pub(crate) const RULES_MAX: usize = 1 << 16;

/// ACLs of an interface. A packet passes if the first matching rule of all lists permits it. If there are lists and
/// no rule matches, it is dropped.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-interfaces")]
pub struct AclInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// ACLs for received packets, in order of evaluation.
    pub input: Vec<AclNumber>,
    /// ACLs for transmitted packets, in order of evaluation.
    pub output: Vec<AclNumber>,
}

/// A direction, as fields and commands call it.
pub(crate) fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "input",
        Direction::Tx => "output",
    }
}

impl AclInterface {
    /// The object that there shall be: none without lists.
    pub(crate) fn wanted(self) -> Option<AclInterface> {
        Some(self).filter(|at| !at.input.is_empty() || !at.output.is_empty())
    }
    /// The lists of a direction.
    pub fn lists(&self, direction: Direction) -> &[AclNumber] {
        match direction {
            Direction::Rx => &self.input,
            Direction::Tx => &self.output,
        }
    }
    /// The same, to be changed.
    pub fn lists_mut(&mut self, direction: Direction) -> &mut Vec<AclNumber> {
        match direction {
            Direction::Rx => &mut self.input,
            Direction::Tx => &mut self.output,
        }
    }
}

/// Settings of all lists.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-settings")]
pub struct AclSettings {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Whether interfaces count packets and bytes by matching rule, in `/acl/N/matches`. Classification is slower then.
    #[default(false)]
    pub counters: bool,
    /// Seconds without packets after which sessions other than those of TCP end.
    #[default(600)]
    pub udp_timeout: u32,
    /// Seconds without packets after which TCP sessions end whose handshake is complete.
    #[default(86400)]
    pub tcp_timeout: u32,
    /// Seconds without packets after which TCP sessions end before their handshake, and after a FIN or RST.
    #[default(120)]
    pub tcp_transient_timeout: u32,
    /// Whether sessions end whose flow the lists do not permit and reflect any more, when lists or interfaces' lists change. Otherwise
    /// sessions stay when the rules of a list change, and those of an interface end when it gets other lists.
    #[default(false)]
    pub reclassify_sessions: bool,
}

impl AclSettings {
    /// The only name.
    pub const NAME: &str = "default";

    /// The settings while none are configured.
    pub fn standard() -> AclSettings {
        AclSettings::new(AclSettings::NAME.to_owned())
    }
    /// The settings as they are.
    pub(crate) fn current(control: &Control) -> AclSettings {
        let known = control.objects().get::<AclSettings>(&AclSettings::NAME.to_owned());
        known.map_or_else(AclSettings::standard, |settings| (*settings).clone())
    }
    /// Changes the settings. Settings with standard values alone are not stored as an object.
    pub(crate) fn change(control: &Control, change: impl FnOnce(&mut AclSettings)) -> Result<(), ObjectError> {
        let mut settings = AclSettings::current(control);
        change(&mut settings);
        let name = settings.name.clone();
        control.assign(&name, Some(settings).filter(|settings| *settings != AclSettings::standard()))
    }
}

/// Checks the fields of a list that need no other object.
pub(crate) fn check(acl: &Acl) -> Result<(), ObjectError> {
    if acl.id >= ACLS_MAX {
        return Err(ObjectError::field("id", format!("{} is out of range", acl.id))
            .remedy(format!("give 0 to {}", ACLS_MAX - 1)));
    }
    if acl.rules.len() > RULES_MAX {
        let what = format!("there are {}", acl.rules.len());
        return Err(ObjectError::field("rules", what).remedy(format!("give at most {RULES_MAX}")));
    }
    check_tag(acl.tag.as_ref())?;
    for (index, rule) in acl.rules.iter().enumerate() {
        rule.check().map_err(|error| ObjectError { field: format!("rules[{index}].{}", error.field), ..error })?;
    }
    Ok(())
}

/// Checks the tag of a list.
pub(crate) fn check_tag(tag: Option<&String>) -> Result<(), ObjectError> {
    match tag.is_some_and(|tag| tag.len() > 63) {
        true => Err(ObjectError::field("tag", "it is too long").remedy("give at most 63 bytes")),
        false => Ok(()),
    }
}

/// Checks settings.
pub(crate) fn check_settings(settings: &AclSettings) -> Result<(), ObjectError> {
    if settings.name != AclSettings::NAME {
        let what = format!("there are no settings '{}'", settings.name);
        return Err(ObjectError::field("name", what).remedy("name it default"));
    }
    for (field, seconds) in [
        ("udp-timeout", settings.udp_timeout),
        ("tcp-timeout", settings.tcp_timeout),
        ("tcp-transient-timeout", settings.tcp_transient_timeout),
    ] {
        if seconds == 0 {
            return Err(ObjectError::field(field, "sessions would end at once").remedy("say 1 or more"));
        }
    }
    Ok(())
}

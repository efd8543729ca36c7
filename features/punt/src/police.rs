//! `ip4-punt-policer`, `ip6-punt-policer`: punted packets that a policer drops go no further, so that whoever has them is not
//! flooded. The objects of kinds `punt-policers` and `ip6-punt-policers` say which policer.

use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Context, Dataplane, Domain, Frame, Node, Publisher, Snapshot, arcs};
use quiver_interface::{InterfaceId, Interfaces};
use quiver_policer::{Police, PolicerName, Policers};

use crate::family::Punted;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        Policed => drop "policed",
    }
}

/// Policer of all punted packets of a family.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::POLICERS)]
pub struct PuntPolicer<F: Punted> {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Name of the policer.
    pub policer: PolicerName,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Punted> PuntPolicer<F> {
    /// The only name.
    pub const NAME: &str = "default";
}

/// The number of the policer.
pub(crate) struct Policed<F: Punted> {
    number: Publisher<Option<u32>>,
    family: PhantomData<F>,
}

impl<F: Punted> Policed<F> {
    pub fn new(domain: &Domain) -> Policed<F> {
        Policed { number: Publisher::new(domain, None), family: PhantomData }
    }
    pub fn number(&self) -> Snapshot<Option<u32>> {
        self.number.snapshot()
    }
    /// The same, as it was published last.
    pub fn current(&self) -> Option<u32> {
        *self.number.current()
    }
}

/// A node.
#[derive(Clone)]
pub struct PolicerNode {
    /// The policers.
    pub police: Police,
    /// Which one of them is meant.
    pub number: Snapshot<Option<u32>>,
}

impl Node for PolicerNode {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let Some(number) = *self.number.read(cx.guard) else { return };
        for i in 0..frame.len() {
            let length = frame.length[i];
            let packet = frame.bytes_mut(cx.pool, i);
            if !self.police.passes(cx.guard, cx.now, number, packet, length) {
                frame.next[i] = Next::Policed.into();
            }
        }
    }
}

/// Has punted packets policed by a policer, or by none.
pub(crate) fn set<F: Punted>(control: &Control, policer: Option<PolicerName>) -> Result<(), ObjectError> {
    let name = PuntPolicer::<F>::NAME.to_owned();
    match policer {
        Some(policer) => control.put(PuntPolicer::<F> { name, policer, family: PhantomData }),
        None if control.objects().get::<PuntPolicer<F>>(&name).is_some() => control.delete::<PuntPolicer<F>>(&name),
        None => Ok(()),
    }
}

/// Checks the object on its own, regardless of other objects.
pub(crate) fn check<F: Punted>(wanted: &PuntPolicer<F>) -> Result<(), ObjectError> {
    match wanted.name == PuntPolicer::<F>::NAME {
        true => Ok(()),
        false => Err(ObjectError::field("name", "there is one only").remedy("call it default")),
    }
}

pub(crate) fn apply<F: Punted>(control: &Control, change: Change<'_, PuntPolicer<F>>) -> Result<(), ObjectError> {
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => Some(new),
        Change::Delete(_) => None,
    };
    let number = match wanted {
        Some(PuntPolicer { policer: PolicerName(name), .. }) => {
            let number = control.room::<Policers>().number(name);
            Some(number.ok_or_else(|| ObjectError::field("policer", format!("there is no policer {name}")))?)
        }
        None => None,
    };
    control.room_mut::<Policed<F>>().number.publish(number);
    let all: Vec<InterfaceId> = control.room::<Interfaces>().iter().map(|interface| interface.id).collect();
    all.into_iter().try_for_each(|id| enable::<F>(control, id))
}

/// Has punted packets of an interface meet the node where there is a policer.
pub(crate) fn enable<F: Punted>(control: &Control, id: InterfaceId) -> Result<(), ObjectError> {
    let on = control.room::<Policed<F>>().number.current().is_some();
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.punt, F::POLICER, id.0, on);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}

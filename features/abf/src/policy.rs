//! Policies: a list, and where its packets go.

use std::fmt;
use std::marker::PhantomData;

use quiver_acl::AclNumber;
use quiver_control::object::{Field, ObjectRef, Place, Problems, Scalar};
use quiver_control::serde_json::Value;
use quiver_control::{Change, Control, Object, ObjectError};
use quiver_ip::fib::rows::BUCKETS;
use quiver_ip::objects::check_paths;
use quiver_ip::routes::paths;
use quiver_ip::{Ip, RoutePath};

use crate::family::Forwarded;
use crate::state::Policies;

/// ABF policy: packets that its ACL permits are forwarded by its paths.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::POLICIES)]
pub struct AbfPolicy<F: Forwarded> {
    /// Policy id by which attachments refer to it.
    #[key]
    pub id: u32,
    /// Index of the ACL.
    pub acl: AclNumber,
    /// Paths as in `routes`. Flows are balanced over them.
    pub paths: Vec<RoutePath<F>>,
}

/// The number of a family's policy in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyNumber<F: Forwarded>(pub u32, PhantomData<F>);

impl<F: Forwarded> PolicyNumber<F> {
    /// The policy of this number.
    pub const fn new(number: u32) -> PolicyNumber<F> {
        PolicyNumber(number, PhantomData)
    }
}
impl<F: Forwarded> fmt::Display for PolicyNumber<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
impl<F: Forwarded> Field for PolicyNumber<F> {
    fn read(value: &Value, problems: &mut Problems) -> Option<Self> {
        <u32 as Field>::read(value, problems).map(PolicyNumber::new)
    }
    fn write(&self) -> Value {
        Scalar::to_value(&self.0)
    }
    fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, ObjectRef)) {
        found(at, ObjectRef::new(AbfPolicy::<F>::KIND, self.0.to_string()));
    }
    fn expected() -> String {
        "the number of a policy".into()
    }
    fn schema() -> Value {
        <u32 as Scalar>::schema()
    }
}

/// Checks the fields of a policy that need no other object.
pub(crate) fn check<F: Forwarded>(policy: &AbfPolicy<F>) -> Result<(), ObjectError> {
    match policy.paths.len() {
        0..=BUCKETS => check_paths(&policy.paths),
        given => {
            Err(ObjectError::field("paths", format!("there are {given}")).remedy(format!("give at most {BUCKETS}")))
        }
    }
}

pub(crate) fn apply<F: Forwarded>(control: &Control, change: Change<'_, AbfPolicy<F>>) -> Result<(), ObjectError> {
    let (id, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new.id, Some(new)),
        Change::Delete(old) => (old.id, None),
    };
    let known = match wanted {
        Some(policy) => {
            let paths = paths(control, &policy.paths)?;
            Some((policy.acl.0, control.room_mut::<Ip<F>>().fib.hold(paths)))
        }
        None => None,
    };
    let old = control.room_mut::<Policies<F>>().set(id, known);
    old.into_iter().for_each(|group| control.room_mut::<Ip<F>>().fib.let_go(group));
    Ok(())
}

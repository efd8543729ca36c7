//! The rules of a list, with what workers check packets against. A list with very many rules is compiled aside from control, before it is
//! put into force.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use quiver_control::object::field::list_difference;
use quiver_control::object::{Field, FieldInfo, ObjectRef, Place, Problems};
use quiver_control::serde_json::Value;
use quiver_control::{Control, LocalFuture};

use crate::lanes::List;
use crate::rule::Rule;
use crate::{space, tuples};

/// Rules up to which a list is compiled in the turn in which it is put into force. PERF: 1,000 rules take 0.1 to 0.2 ms.
pub const AT_ONCE: usize = 1024;

/// Rules in their order. Copies share them, and the compiled list.
#[derive(Clone, Debug)]
pub struct Rules(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    rules: Arc<[Rule]>,
    /// Distinct masks of the rules.
    masks: OnceLock<usize>,
    list: OnceLock<Arc<List>>,
}

impl From<Vec<Rule>> for Rules {
    fn from(rules: Vec<Rule>) -> Rules {
        Rules(Arc::new(Shared { rules: rules.into(), masks: OnceLock::new(), list: OnceLock::new() }))
    }
}

impl Default for Rules {
    fn default() -> Rules {
        vec![].into()
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Rules {
        rules.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Rules {
    type Target = [Rule];
    fn deref(&self) -> &[Rule] {
        &self.0.rules
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        Arc::ptr_eq(&self.0.rules, &other.0.rules) || self.0.rules == other.0.rules
    }
}

impl Rules {
    /// The list as workers have it; compiled now, unless that has been done.
    pub fn list(&self) -> Arc<List> {
        self.0.list.get_or_init(|| Arc::new(List::new(self.0.rules.clone()))).clone()
    }
    /// Whether the list is compiled.
    pub fn is_compiled(&self) -> bool {
        self.0.list.get().is_some()
    }
    /// Compiles the list by a helper thread. None if that has been done, or takes no time.
    pub fn compile(&self, control: &Control) -> Option<LocalFuture<()>> {
        if self.len() <= AT_ONCE || self.is_compiled() {
            return None;
        }
        let rules = self.clone();
        let compiled = control.by_helper(move || drop(rules.list()));
        Some(Box::pin(async move {
            if let Err(error) = compiled.await {
                // It is tried again when the list is put into force.
                tracing::error!("a list of rules could not be compiled: {error}");
            }
        }))
    }
    /// Bytes of the rows of tuples that the list takes, at most: those for whole packets and for later fragments of both families.
    pub(crate) fn rows_bytes(&self) -> usize {
        if self.len() <= space::LINEAR_MAX {
            return 0;
        }
        4 * tuples::rows_bytes(self.len(), *self.0.masks.get_or_init(|| space::masks(self)))
    }
}

/// A field as a list of rules is.
impl Field for Rules {
    fn read(value: &Value, problems: &mut Problems) -> Option<Rules> {
        Vec::read(value, problems).map(Rules::from)
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(Rule::write).collect())
    }
    fn write_concise(&self) -> Value {
        Value::Array(self.iter().map(Rule::write_concise).collect())
    }
    fn is(&self, other: &Rules) -> bool {
        self == other
    }
    fn absent() -> Option<Rules> {
        Some(Rules::default())
    }
    fn write_difference(&self, other: Option<&Rules>) -> Value {
        list_difference(self, other.map(|other| &**other), Rule::eq)
    }
    /// Rules refer to nothing.
    fn references(&self, _: &Place<'_>, _: &mut dyn FnMut(&Place<'_>, ObjectRef)) {}
    fn expected() -> String {
        Vec::<Rule>::expected()
    }
    fn schema() -> Value {
        Vec::<Rule>::schema()
    }
    fn fields() -> Vec<FieldInfo> {
        Rule::fields()
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! Refusals of a call.

/// Why a call is refused: the field or argument if one is meant, what is wrong, and what would be right.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    pub(crate) field: String,
    pub(crate) what: String,
    pub(crate) remedy: String,
    /// The daemon has noted why already.
    pub(crate) told: bool,
}

impl Refusal {
    /// Something is wrong.
    pub fn new(what: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), ..Refusal::default() }
    }
    /// With this field or argument.
    #[must_use]
    pub fn of(mut self, field: &str) -> Refusal {
        field.clone_into(&mut self.field);
        self
    }
    /// Adds what would be right.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Refusal {
        self.remedy = remedy.into();
        self
    }
}

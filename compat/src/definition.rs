//! Descriptions of messages and their types, with VPP's checksum: by name and checksum together client and daemon know
//! whether they mean the same message.

use std::fmt::Write;

/// A type of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name, such as `u32` or `ip4_address`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

/// Kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the language.
    Base,
    /// Another name: of so many elements of a type, or of one where the length is 0.
    Alias {
        /// The other type.
        of: Box<Type>,
        /// Elements of it.
        length: usize,
    },
    /// Fields one after the other.
    Struct(Vec<Field>),
    /// One of these fields, in the room of the largest.
    Union(Vec<Field>),
    /// A choice.
    Enum {
        /// The integer on the wire.
        base: &'static str,
        /// Names and values.
        values: Vec<(&'static str, i64)>,
    },
    /// A set of flags.
    Flags {
        /// The integer on the wire.
        base: &'static str,
        /// Names and values.
        values: Vec<(&'static str, i64)>,
    },
}

/// A field of a message or of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type, or that of its elements.
    pub of: Type,
    /// Number of elements.
    pub shape: Shape,
}

impl Field {
    /// Bytes of it on the wire; of a list, none.
    pub(crate) fn size(&self) -> usize {
        match self.shape {
            Shape::One => self.of.size(),
            // A text of any length: the length.
            Shape::Array(0) => 4,
            Shape::Array(length) => length * self.of.size(),
            Shape::Counted(_) => 0,
        }
    }
}

fn size(fields: &[Field]) -> usize {
    fields.iter().map(Field::size).sum()
}

/// Number of elements of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One,
    /// So many; of a text, 0 is any length.
    Array(usize),
    /// As many as another field says.
    Counted(String),
}

impl Type {
    /// A type of the language.
    pub fn base(name: &str) -> Type {
        Type { name: name.to_owned(), kind: Kind::Base }
    }
    /// A type that has a definition.
    pub fn named(name: &str, kind: Kind) -> Type {
        Type { name: name.to_owned(), kind }
    }
    /// Its name in a field.
    pub fn in_field(&self) -> String {
        match self.kind {
            Kind::Base => self.name.clone(),
            _ => format!("vl_api_{}_t", self.name),
        }
    }
    /// The fields that it consists of.
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Struct(fields) | Kind::Union(fields) => fields,
            _ => &[],
        }
    }
    /// Bytes of one on the wire, lists in it being empty.
    pub fn size(&self) -> usize {
        let of_base = |name: &str| match name {
            "u16" | "i16" => 2,
            "u32" | "i32" => 4,
            "u64" | "i64" | "f64" => 8,
            _ => 1,
        };
        match &self.kind {
            Kind::Base => of_base(&self.name),
            Kind::Alias { of, length } => of.size() * (*length).max(1),
            Kind::Struct(fields) => size(fields),
            Kind::Union(fields) => fields.iter().map(Field::size).max().unwrap_or_default(),
            Kind::Enum { base, .. } | Kind::Flags { base, .. } => of_base(base),
        }
    }
    /// It and the types with names that it consists of, each behind those that it consists of.
    pub fn parts(&self) -> Vec<Type> {
        let mut found = vec![];
        collect(&[Field { name: String::new(), of: self.clone(), shape: Shape::One }], &mut found);
        found
    }
    /// Its part of the checksum of messages that use it.
    fn repr(&self) -> String {
        match &self.kind {
            Kind::Base | Kind::Alias { .. } => "[]".into(),
            Kind::Struct(fields) | Kind::Union(fields) => repr(fields),
            Kind::Enum { values, .. } | Kind::Flags { values, .. } => {
                let values: Vec<_> = values.iter().map(|(name, value)| format!("['{name}', {value}]")).collect();
                format!("[{}]", values.join(", "))
            }
        }
    }
}

/// Fields as VPP's generator of code prints them: the checksum is over this text.
fn repr(fields: &[Field]) -> String {
    let mut text = String::from("[");
    for (index, Field { name, of, shape }) in fields.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let ty = of.in_field();
        let _ = match shape {
            Shape::One => write!(text, "{separator}['{ty}', '{name}']"),
            Shape::Array(length) => write!(text, "{separator}['{ty}', '{name}', {length}, None]"),
            Shape::Counted(count) => write!(text, "{separator}['{ty}', '{name}', 0, '{count}']"),
        };
    }
    text.push(']');
    text
}

/// Header of a message: its fields between the message number and its own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Client index, and a context that the answer returns.
    Request,
    /// Context and return value.
    Reply,
    /// Context.
    Details,
    /// Client index of the subscriber, and its `pid`.
    Event,
    /// Client index of the subscriber.
    Told,
    /// Nothing.
    Bare,
}

impl Header {
    /// Its fields.
    pub fn fields(self) -> Vec<Field> {
        let fields: &[(&str, &str)] = match self {
            Header::Request => &[("u32", "client_index"), ("u32", "context")],
            Header::Reply => &[("u32", "context"), ("i32", "retval")],
            Header::Details => &[("u32", "context")],
            Header::Event => &[("u32", "client_index"), ("u32", "pid")],
            Header::Told => &[("u32", "client_index")],
            Header::Bare => &[],
        };
        let field = |(of, name): &(&str, &str)| Field { name: (*name).into(), of: Type::base(of), shape: Shape::One };
        fields.iter().map(field).collect()
    }
    /// Bytes of it.
    pub fn size(self) -> usize {
        size(&self.fields())
    }
}

/// The description of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// All of its fields but the number that stands for its name.
    pub fields: Vec<Field>,
    /// Description.
    pub text: String,
    /// Defaults, as JSON, of fields that a client's caller leaves out; 0 for all others.
    pub defaults: Vec<(&'static str, &'static str)>,
    /// Fields that only the receiver is to know: traces are without them.
    pub secrets: Vec<&'static str>,
}

impl Definition {
    /// A message of these fields behind its header.
    pub fn new(name: &str, header: Header, fields: Vec<Field>, text: &str) -> Definition {
        let fields = [header.fields(), fields].concat();
        Definition { name: name.to_owned(), fields, text: text.to_owned(), defaults: vec![], secrets: vec![] }
    }
    /// Bytes of it behind its number, lists in it being empty.
    pub fn size(&self) -> usize {
        size(&self.fields)
    }
    /// The same, where clients fill in these values of fields.
    pub fn with_defaults(mut self, defaults: &[(&'static str, &'static str)]) -> Definition {
        self.defaults = defaults.to_vec();
        self
    }
    /// The same, of which these fields are secret.
    pub fn with_secrets(mut self, secrets: &[&'static str]) -> Definition {
        self.secrets = secrets.to_vec();
        self
    }
    /// VPP's checksum: over its fields, and then over the types of these, as deep as they go.
    pub fn crc(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(repr(&self.fields).as_bytes());
        fold(&self.fields, &mut hasher);
        hasher.finalize()
    }
    /// Its name in the table that a client gets.
    pub fn name_crc(&self) -> String {
        format!("{}_{:08x}", self.name, self.crc())
    }
    /// The types with names that it uses, each behind those that it consists of.
    pub fn types(&self) -> Vec<Type> {
        let mut found = vec![];
        collect(&self.fields, &mut found);
        found
    }
}

/// Adds named types to a checksum in VPP's order: outer ones before inner ones, and nothing behind an alias.
fn fold(fields: &[Field], hasher: &mut crc32fast::Hasher) {
    for Field { of, .. } in fields.iter().filter(|field| field.of.kind != Kind::Base) {
        hasher.update(of.repr().as_bytes());
        fold(of.fields(), hasher);
    }
}

fn collect(fields: &[Field], found: &mut Vec<Type>) {
    for Field { of, .. } in fields.iter().filter(|field| field.of.kind != Kind::Base) {
        let inner = match &of.kind {
            Kind::Alias { of, .. } => vec![Field { name: String::new(), of: (**of).clone(), shape: Shape::One }],
            _ => of.fields().to_vec(),
        };
        collect(&inner, found);
        if !found.contains(of) {
            found.push(of.clone());
        }
    }
}

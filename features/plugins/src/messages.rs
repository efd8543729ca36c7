//! Messages that plugins add to VPP's binary API.

use quiver_compat::definition::{Definition, Field, Header, Shape, Type};
use quiver_compat::session::REQUEST_MAX;
use quiver_compat::{Api, Retval, add};
use quiver_control::Control;
use quiver_plugin::{Message, MessageField, MessageHost};

/// How they reach clients.
pub(crate) const HOST: MessageHost = MessageHost { check, add: add_all };

/// Types of VPP's language itself.
const BASE: [&str; 11] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f64", "bool", "string"];
/// What a client sees of a name with its checksum behind it, and a zero.
const NAME_MAX: usize = 64 - 10;

fn check(control: &Control, messages: &[Message]) -> Result<(), String> {
    let api = control.room::<Api>();
    for (index, message) in messages.iter().enumerate() {
        let name = &message.name;
        let (request, reply) = definitions(&api, message)?;
        let is_of = |other: &Message, name: &str| {
            name.strip_prefix(&*other.name).is_some_and(|rest| rest.is_empty() || rest == "_reply")
        };
        let is_taken = |name: &str| api.has(name) || messages[..index].iter().any(|other| is_of(other, name));
        if is_taken(&request.name) || is_taken(&reply.name) {
            return Err(format!("there is a message `{name}`, or a reply to one, already; rename it"));
        }
    }
    Ok(())
}

fn add_all(control: &Control, plugin: &'static str, release: &str, messages: Vec<Message>) {
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    let version = (number(), number(), number());
    let described: Vec<_> = {
        let api = control.room::<Api>();
        // They were checked.
        messages.into_iter().filter_map(|message| Some((definitions(&api, &message).ok()?, message))).collect()
    };
    add(control, plugin, version, |file| {
        for ((request, reply), message) in described {
            file.raw(request, reply, move |call, bytes| {
                let (retval, bytes) = message.answer(&call.control, bytes);
                (Retval(retval), bytes)
            });
        }
    });
}

/// A request and its reply, as clients know them.
fn definitions(api: &Api, message: &Message) -> Result<(Definition, Definition), String> {
    let Message { name, help, .. } = message;
    let reply = format!("{name}_reply");
    if !is_name(name) || reply.len() >= NAME_MAX {
        return Err(format!("'{name}' is no name of a message; use small letters, digits and underscores"));
    }
    let of = |name: &str, header: Header, given: &[MessageField], text: &str| {
        let fields = fields(api, given, header).map_err(|what| format!("the message `{name}`: {what}"))?;
        let definition = Definition::new(name, header, fields, text);
        match definition.size() {
            0..=REQUEST_MAX => Ok(definition),
            size => Err(format!("the message `{name}` takes {size} bytes; at most {REQUEST_MAX} fit")),
        }
    };
    let text = format!("Whether `{name}` was done, and what it answers.");
    Ok((of(name, Header::Request, &message.fields, help)?, of(&reply, Header::Reply, &message.reply, &text)?))
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(fits)
}

fn fields(api: &Api, given: &[MessageField], header: Header) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = vec![];
    for (index, MessageField { name, kind, length, count }) in given.iter().enumerate() {
        let taken = fields.iter().chain(&header.fields()).any(|field| field.name == *name) || name == "_vl_msg_id";
        if !is_name(name) || taken {
            return Err(format!("'{name}' is no name of another field"));
        }
        let of = match BASE.contains(&kind.as_str()) {
            true => Type::base(kind),
            false => api.type_named(kind).ok_or_else(|| format!("the field `{name}`: there is no type '{kind}'"))?,
        };
        let shape = match (*length as usize, count.as_str()) {
            (0, "") if kind == "string" => Shape::Array(0),
            (0, "") => Shape::One,
            (length, "") => Shape::Array(length),
            (0, count) => {
                let is_number = |field: &&Field| field.name == count && ["u8", "u16", "u32"].contains(&&*field.of.name);
                let counted = fields.iter().find(is_number).filter(|field| field.shape == Shape::One);
                counted.ok_or_else(|| format!("the field `{name}`: no number '{count}' stands before it"))?;
                Shape::Counted(count.to_owned())
            }
            _ => return Err(format!("the field `{name}` has a fixed number of elements or a field that says it")),
        };
        if kind == "string" && matches!(shape, Shape::Counted(_)) {
            return Err(format!("the field `{name}`: a string says its length itself; leave the count out"));
        }
        let is_last = index + 1 == given.len();
        if !is_last && matches!(shape, Shape::Array(0) | Shape::Counted(_)) {
            return Err(format!("the field `{name}` has any length, so it is the last one"));
        }
        fields.push(Field { name: name.clone(), of, shape });
    }
    Ok(fields)
}

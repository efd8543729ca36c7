//! Messages that plugins add to VPP's binary API.

use quiver_compat::api::{RawAnswer, RawRequest};
use quiver_compat::definition::{Definition, Field, Header, Shape, Type};
use quiver_compat::event::Raw;
use quiver_compat::session::REQUEST_MAX;
use quiver_compat::{Api, Retval, Subscribers, add};
use quiver_control::Control;
use quiver_plugin::{Answered, Event, Message, MessageField, MessageHost};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Functions that bring them to clients.
pub(crate) const HOST: MessageHost = MessageHost { check, add: add_all, tell };

/// Types of VPP's language itself.
const BASE: [&str; 11] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f64", "bool", "string"];
/// Longest name of a message: clients have 64 bytes for the name, its checksum and a zero.
const NAME_MAX: usize = 64 - 10;

/// Subscribers of plugins' events, by the event's name.
#[derive(Default)]
pub(crate) struct Told(HashMap<String, Rc<Subscribers<Raw>>>);

fn check(control: &Control, messages: &[Message], events: &[Event]) -> Result<(), String> {
    let api = control.room::<Api>();
    let mut taken: HashSet<String> = HashSet::new();
    let mut add = |definition: &Definition| match api.has(&definition.name) || !taken.insert(definition.name.clone()) {
        true => Err(format!("there is a message `{}` already; rename it", definition.name)),
        false => Ok(()),
    };
    for event in events {
        add(&told(&api, event)?)?;
    }
    for message in messages {
        let RawRequest { request, reply, details, .. } = asked(&api, message)?;
        [Some(request), reply, details].iter().flatten().try_for_each(&mut add)?;
        if !message.event.is_empty() && events.iter().all(|event| event.name != message.event) {
            return Err(format!("the message `{}`: the plugin adds no event `{}`", message.name, message.event));
        }
    }
    Ok(())
}

fn add_all(control: &Control, plugin: &'static str, release: &str, messages: Vec<Message>, events: &[Event]) {
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    let version = (number(), number(), number());
    // They were checked.
    let (requests, events): (Vec<_>, Vec<_>) = {
        let api = control.room::<Api>();
        let requests = messages.into_iter().filter_map(|message| Some((asked(&api, &message).ok()?, message)));
        (requests.collect(), events.iter().filter_map(|event| told(&api, event).ok()).collect())
    };
    add(control, plugin, version, |file| {
        let mut subscribers = control.room_mut::<Told>();
        for event in events {
            let name = event.name.clone();
            subscribers.0.insert(name, Rc::new(Subscribers::new(file.raw_event(event))));
        }
        for (request, message) in requests {
            let subscribers = subscribers.0.get(&message.event).cloned();
            file.raw(request, move |call, bytes| {
                let Answered { retval, reply, details, wanted } = message.answer(&call.control, bytes);
                if let (Some(subscribers), Some((pid, wanted))) = (&subscribers, wanted) {
                    subscribers.set(&call.client, pid, wanted);
                }
                RawAnswer { retval: Retval(retval), reply, details }
            });
        }
    });
}

fn tell(control: &Control, event: &str, fields: &[u8]) {
    let subscribers = control.room::<Told>().0.get(event).cloned();
    if let Some(subscribers) = subscribers {
        subscribers.tell_raw(fields);
    }
}

/// A request and what answers it, as clients know them.
fn asked(api: &Api, message: &Message) -> Result<RawRequest, String> {
    let Message { name, details, event, .. } = message;
    let is_dump = message.is_dump();
    if is_dump && (details.is_empty() || !message.reply.is_empty()) {
        return Err(format!(
            "the message `{name}` is a dump, which has details and no reply; name the one, leave out the other"
        ));
    }
    let of = |name: &str, header, fields: &[MessageField], text: &str| definition(api, name, header, fields, text);
    let reply = || {
        let text = format!("Result of `{name}`: `retval` 0 or a negative error, and its fields.");
        of(&format!("{name}_reply"), Header::Reply, &message.reply, &text)
    };
    let all = || of(details, Header::Details, &message.details_fields, &format!("Describes one item of `{name}`."));
    Ok(RawRequest {
        request: of(name, Header::Request, &message.fields, &message.help)?,
        reply: (!is_dump).then(reply).transpose()?,
        details: (!details.is_empty()).then(all).transpose()?,
        events: [event.clone()].into_iter().filter(|event| !event.is_empty()).collect(),
    })
}

/// An event, as clients know it.
fn told(api: &Api, event: &Event) -> Result<Definition, String> {
    definition(api, &event.name, Header::Event, &event.fields, &event.help)
}

fn definition(api: &Api, name: &str, header: Header, given: &[MessageField], text: &str) -> Result<Definition, String> {
    if !is_name(name) || name.len() >= NAME_MAX {
        return Err(format!("'{name}' is no name of a message; use small letters, digits and underscores"));
    }
    let fields = fields(api, given, header).map_err(|what| format!("the message `{name}`: {what}"))?;
    let definition = Definition::new(name, header, fields, text);
    match definition.size() {
        0..=REQUEST_MAX => Ok(definition),
        size => Err(format!("the message `{name}` takes {size} bytes; at most {REQUEST_MAX} fit")),
    }
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

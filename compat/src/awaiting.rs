//! VPP's messages that no room has yet. Clients find them by name and checksum, as they check before they work at all; a
//! request is answered by "unimplemented", a dump by nothing.
//!
//! The table names all messages of VPP 26.10 (FDio/vpp at b575ec2c56d7), a line each: name, checksum, role, and the
//! messages that belong to it. For replies it has the bytes behind the message's number, and the places of context and
//! retval in these if not first and second.

use std::collections::HashMap;

use crate::api::{Answer, Api, Call, Service, frame};
use crate::retval::Retval;
use crate::wire::Input;

/// The table.
const TABLE: &str = include_str!("../awaiting/vpp-26.10.txt");

/// A message of VPP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its checksum.
    pub crc: u32,
    /// The file that defines it.
    pub file: &'a str,
    /// Its role.
    pub role: Role<'a>,
}

/// Role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// It asks for one answer.
    Request {
        /// The answer.
        reply: &'a str,
    },
    /// It asks for any number of answers.
    Dump {
        /// The answers.
        details: &'a str,
    },
    /// It asks for any number of answers and one at the end.
    Stream {
        /// The one at the end.
        reply: &'a str,
        /// The others.
        details: &'a str,
    },
    /// It answers.
    Reply {
        /// Bytes behind its number, where lists are empty.
        size: usize,
        /// Where in them the context stands.
        context: usize,
        /// And where the retval does, if it has one.
        retval: Option<usize>,
    },
    /// A details message, an event, or a message of the protocol itself.
    Other,
}

fn row<'a>(file: &'a str, line: &'a str) -> Option<Row<'a>> {
    let mut words = line.split(' ');
    let (name, crc, role) = (words.next()?, u32::from_str_radix(words.next()?, 16).ok()?, words.next()?);
    let role = match role {
        "request" => Role::Request { reply: words.next()? },
        "dump" => Role::Dump { details: words.next()? },
        "stream" => Role::Stream { reply: words.next()?, details: words.next()? },
        "reply" => Role::Reply {
            size: words.next()?.parse().ok()?,
            context: words.next().map_or(Some(0), |at| at.parse().ok())?,
            retval: words.next().map_or(Some(4), |at| at.parse().ok()),
        },
        _ => Role::Other,
    };
    Some(Row { name, crc, file, role })
}

/// All messages of VPP.
pub fn rows() -> impl Iterator<Item = Row<'static>> {
    let mut file = "";
    TABLE.lines().filter_map(move |line| match line.strip_prefix("file ") {
        Some(of) => {
            file = of.split(' ').next().unwrap_or(of);
            None
        }
        None => row(file, line),
    })
}

/// Whether rooms have all messages of a file, and there are any.
pub fn is_complete(api: &Api, file: &str) -> bool {
    let mut of = rows().filter(|row| row.file == file).peekable();
    of.peek().is_some() && of.all(|row| api.has(row.name))
}

impl Api {
    /// Adds messages that no room has added. The first client needs them, and most daemons of tests have no client.
    pub(crate) fn await_rest(&mut self) {
        if std::mem::replace(&mut self.awaits_rest, true) {
            return;
        }
        let all: Vec<Row<'static>> = rows().collect();
        let replies: HashMap<&str, Role<'static>> = all.iter().map(|row| (row.name, row.role)).collect();
        let missing: Vec<&Row<'static>> = all.iter().filter(|row| self.id_of(row.name).is_none()).collect();
        let ids: HashMap<&str, u16> =
            missing.iter().map(|row| (row.name, self.await_message(row.name, row.crc))).collect();
        for row in missing {
            let reply = match row.role {
                Role::Request { reply } | Role::Stream { reply, .. } => replies.get(reply).copied().zip(ids.get(reply)),
                _ => None,
            };
            self.refuse_awaited(ids[row.name], row, reply.map(|(role, id)| (role, *id)));
        }
    }
    /// Has the message of a number answered by its reply, with the number of that.
    fn refuse_awaited(&mut self, id: u16, row: &Row<'static>, reply: Option<(Role<'static>, u16)>) {
        let (service, retval) = match row.role {
            Role::Request { reply } => {
                (Service { reply: Some(reply.into()), ..Service::default() }, Retval::UNIMPLEMENTED)
            }
            Role::Stream { reply, details } => {
                (Service { reply: Some(reply.into()), details: Some(details.into()), events: vec![] }, Retval::DONE)
            }
            Role::Dump { details } => (Service { details: Some(details.into()), ..Service::default() }, Retval::DONE),
            Role::Reply { .. } | Role::Other => return,
        };
        let name = row.name;
        self.answer(id, service, move |call, _: &mut Input<'_>, out| {
            tracing::info!("{name} is not implemented");
            if let Some((Role::Reply { size, context, retval: at }, id)) = reply {
                frame(out, id, |out| refuse(out, call, size, context, at.map(|at| (at, retval))));
            }
            Answer::Done
        });
    }
}

/// Writes a reply of zeros but for context and retval.
fn refuse(out: &mut Vec<u8>, call: &Call, size: usize, context: usize, retval: Option<(usize, Retval)>) {
    let start = out.len();
    out.resize(start + size, 0);
    out[start + context..start + context + 4].copy_from_slice(&call.context.to_be_bytes());
    if let Some((at, retval)) = retval {
        out[start + at..start + at + 4].copy_from_slice(&retval.0.to_be_bytes());
    }
}

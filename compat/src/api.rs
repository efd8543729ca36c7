//! The messages that the daemon knows, and their handlers.
//!
//! - [`framing`]: a message as it goes over the socket; [`names`]: the table of names and numbers.
//! - [`adding`]: how rooms add their messages; [`raw`]: how those are added that no type stands for.

mod adding;
mod framing;
pub(crate) mod names;
mod raw;

use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::transaction::Author;

use crate::definition::{Definition, Type};
use crate::event::{Client, Known};
use crate::release::Release;
use crate::wire::Input;

pub(crate) use adding::extend;
pub use adding::{Adding, Answered};
pub(crate) use framing::frame;
pub use framing::{FRAME, MessageId};
pub use raw::{RawAnswer, RawRequest};

/// A request, with its client and context.
pub struct Call {
    /// The control side, as this client changes it.
    pub control: Control,
    /// Client that sent it.
    pub client: Client,
    /// Context that the answer returns.
    pub context: u32,
}

/// State of an answer.
pub(crate) enum Answer {
    /// It is written.
    Done,
    /// It is written later.
    Waiting(Pin<Box<dyn Future<Output = Vec<u8>>>>),
    /// It comes in parts.
    Parts(Box<dyn Parts>),
}

/// An answer that is made part by part, as the client reads.
pub(crate) trait Parts {
    /// Goes on by a step, which may write a part, and says whether there was one.
    fn next(&mut self, out: &mut Vec<u8>) -> bool;
    /// About how much memory is kept for the others, in bytes.
    fn held(&self) -> usize;
}

/// Messages of details, and the one behind them if there is one.
struct Listed<I, W, T> {
    /// Steps, each of which makes a message or none.
    all: I,
    details: PhantomData<T>,
    /// Bytes of memory of each item.
    each: usize,
    write: W,
    last: Option<Vec<u8>>,
}

impl<T, I: Iterator<Item: Into<Option<T>>>, W: Fn(&mut Vec<u8>, T)> Parts for Listed<I, W, T> {
    fn next(&mut self, out: &mut Vec<u8>) -> bool {
        match (self.all.next(), self.last.is_some()) {
            (Some(step), _) => {
                let one: Option<T> = step.into();
                one.into_iter().for_each(|one| (self.write)(out, one));
            }
            (None, true) => out.extend(self.last.take().unwrap_or_default()),
            (None, false) => return false,
        }
        true
    }
    fn held(&self) -> usize {
        let (least, most) = self.all.size_hint();
        most.unwrap_or(least).saturating_mul(self.each) + self.last.as_ref().map_or(0, Vec::capacity)
    }
}

type Handler = Rc<dyn Fn(&Call, &mut Input<'_>, &mut Vec<u8>) -> Answer>;

/// Messages that belong to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The answer, or the last one.
    pub reply: Option<String>,
    /// Details, any number of which precede it.
    pub details: Option<String>,
    /// Events that may follow later.
    pub events: Vec<String>,
}

pub(crate) struct Entry {
    pub name: String,
    /// Name and checksum, as clients know them.
    pub name_crc: String,
    /// Its definition; none for a message that no room has yet.
    pub definition: Option<Definition>,
    pub service: Option<Service>,
    handler: Option<Handler>,
    /// The file that it is in.
    pub file: usize,
}

/// A file of definitions, as VPP and its clients have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiFile {
    /// Its name, without `.api.json`.
    pub name: &'static str,
    /// Its version in VPP.
    pub version: (u32, u32, u32),
    /// Types that it defines whether or not its messages use them.
    pub types: Vec<Type>,
}

/// All messages: those that rooms have added, and names of those that they have not.
pub struct Api {
    pub(crate) files: Vec<ApiFile>,
    /// By number.
    pub(crate) entries: Vec<Option<Entry>>,
    names: HashMap<String, u16>,
    /// Message tables of each release, as clients get them.
    tables: HashMap<Option<Release>, Rc<[u8]>>,
    /// Whether VPP's messages that no room has are among the entries.
    pub(crate) awaits_rest: bool,
    pub(crate) clients: u32,
    /// Connected clients, with the author of each.
    pub(crate) connected: Vec<(Known, Author)>,
}

impl Api {
    pub(crate) fn new() -> Api {
        let entries = (0..=names::NAMES.len()).map(|_| None).collect();
        Api {
            files: vec![],
            entries,
            names: HashMap::new(),
            tables: HashMap::new(),
            awaits_rest: false,
            clients: 0,
            connected: vec![],
        }
    }
    /// The number of a message.
    pub fn id_of(&self, name: &str) -> Option<u16> {
        self.names.get(name).copied()
    }
    /// Whether some room has a message of this name.
    pub fn has(&self, name: &str) -> bool {
        self.id_of(name).is_some_and(|id| self.definition(id).is_some())
    }
    /// The type of this name, if a message has it or a file of messages defines it.
    pub fn type_named(&self, name: &str) -> Option<Type> {
        let of_messages = self.messages().flat_map(|(definition, _)| definition.types());
        let of_files = self.files.iter().flat_map(|file| file.types.iter().flat_map(Type::parts));
        of_messages.chain(of_files).find(|of| of.name == name)
    }
    /// Descriptions of all messages, with the messages that belong to them.
    pub fn messages(&self) -> impl Iterator<Item = (&Definition, Option<&Service>)> {
        self.entries.iter().flatten().filter_map(|entry| Some((entry.definition.as_ref()?, entry.service.as_ref())))
    }
    /// Answers a message of this number. Nothing if there is no such message, or none that clients send.
    pub(crate) fn handler(&self, id: u16) -> Option<Handler> {
        self.entries.get(usize::from(id))?.as_ref()?.handler.clone()
    }
    /// The description of a message, if a room has it.
    pub(crate) fn definition(&self, id: u16) -> Option<&Definition> {
        self.entries.get(usize::from(id))?.as_ref()?.definition.as_ref()
    }
    /// All numbers, with names and checksums.
    pub(crate) fn names_in_order(&self) -> impl Iterator<Item = (u16, &str)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(id, entry)| Some((id as u16, entry.as_ref()?.name_crc.as_str())))
    }
    /// The number of the message with this name and checksum.
    pub(crate) fn id_of_name_crc(&self, name_crc: &str) -> Option<u16> {
        let id = self.id_of(name_crc.rsplit_once('_')?.0)?;
        self.entries[usize::from(id)].as_ref().filter(|entry| entry.name_crc == name_crc).map(|_| id)
    }
    pub(crate) fn name(&self, id: u16) -> Option<&str> {
        Some(&self.entries.get(usize::from(id))?.as_ref()?.name)
    }
    /// The end of the answer to a client's first message: how many names there are, and each with its number. A client of
    /// another release than 26.10 finds the checksums of that one.
    pub(crate) fn table(&mut self, release: Option<Release>) -> Rc<[u8]> {
        self.await_rest();
        let Api { tables, entries, .. } = self;
        let table = tables.entry(release).or_insert_with(|| {
            let differences: HashMap<&str, u32> = release.into_iter().flat_map(Release::differences).collect();
            let name_crc = |entry: &Entry| match differences.get(entry.name.as_str()) {
                Some(crc) => format!("{}_{crc:08x}", entry.name),
                None => entry.name_crc.clone(),
            };
            let entries = (0..).zip(entries.iter());
            names::table(entries.filter_map(|(id, entry)| Some((id, name_crc(entry.as_ref()?)))))
        });
        table.clone()
    }
    /// The number of a message; a new one if it is not known yet.
    fn define(&mut self, definition: Definition, file: usize) -> u16 {
        match self.id_of(&definition.name) {
            Some(id) if self.definition(id).is_some() => id,
            // Clients may know it by now as one that no room has.
            _ => self.insert(Entry {
                name: definition.name.clone(),
                name_crc: definition.name_crc(),
                definition: Some(definition),
                service: None,
                handler: None,
                file,
            }),
        }
    }
    /// The number of a message that no room has yet.
    pub(crate) fn await_message(&mut self, name: &str, crc: u32) -> u16 {
        let (name, name_crc) = (name.to_owned(), format!("{name}_{crc:08x}"));
        self.insert(Entry { name, name_crc, definition: None, service: None, handler: None, file: usize::MAX })
    }
    /// Has the message of a number answered.
    pub(crate) fn answer(
        &mut self,
        id: u16,
        service: Service,
        handler: impl Fn(&Call, &mut Input<'_>, &mut Vec<u8>) -> Answer + 'static,
    ) {
        if let Some(entry) = self.entries.get_mut(usize::from(id)).and_then(Option::as_mut) {
            entry.service = Some(service);
            entry.handler = Some(Rc::new(handler));
        }
    }
    fn insert(&mut self, entry: Entry) -> u16 {
        let fixed = names::NAMES.iter().position(|name| *name == entry.name).map(|place| place + 1);
        let known = self.id_of(&entry.name).map(usize::from);
        let id = fixed.or(known).unwrap_or(self.entries.len());
        if id == self.entries.len() {
            self.entries.push(None);
        }
        // Numbers have 16 bits, and VPP has some thousand messages.
        self.names.insert(entry.name.clone(), id as u16);
        self.entries[id] = Some(entry);
        self.tables.clear();
        id as u16
    }
}

//! A file's objects: read kind by kind, with all that is wrong told at once.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::tree::{Data, Entry, Node, Position};
use super::{ConfigError, write};
use crate::control::Control;
use crate::list::List;
use crate::object::{AnyKind, AnyObject, ObjectError, ObjectRef, Spread};
use crate::pace::{Pace, free};

/// An object that a file wants, and where it stands.
pub(super) struct Wanted {
    pub kind: Rc<dyn AnyKind>,
    pub object: Rc<dyn AnyObject>,
    /// The part of it that can run: less, or nothing, while something that it needs is missing.
    pub runs: Option<Rc<dyn AnyObject>>,
    pub node: Node,
}

/// An object as it was read, with its values if there are errors; None of what is no mapping.
type ReadItem = Option<(Result<Rc<dyn AnyObject>, Vec<ObjectError>>, Map<String, Value>)>;

/// Reads and checks an object, a long one by a helper. Returns the item as well.
async fn read_item(kind: &Rc<dyn AnyKind>, item: Node, pace: &Pace) -> (Node, ReadItem) {
    if item.is_long()
        && let Some(parse) = kind.parse_aside()
    {
        let at = item.at;
        let parsed = pace.aside(move || {
            let Value::Object(values) = item.to_value() else { return (item, None) };
            let parsed = parse(&values);
            let values = if parsed.is_err() { values } else { Map::new() };
            (item, Some((parsed, values)))
        });
        match parsed.await {
            Ok((item, parsed)) => {
                let checked = |(parsed, values): (Result<Box<dyn AnyObject + Send>, _>, _)| match parsed {
                    Ok(object) => {
                        let object: Rc<dyn AnyObject> = Rc::<dyn AnyObject + Send>::from(object);
                        match kind.check(&*object) {
                            Ok(()) => (Ok(object), values),
                            Err(error) => (Err(vec![error]), object.values()),
                        }
                    }
                    Err(errors) => (Err(errors), values),
                };
                return (item, parsed.map(checked));
            }
            Err(error) => {
                let failed = ObjectError::whole(format!("it could not be read: {error}"));
                return (Node { at, data: Data::Scalar(Value::Null) }, Some((Err(vec![failed]), Map::new())));
            }
        }
    }
    let read = match item.to_value() {
        Value::Object(values) => Some((kind.read(&values), values)),
        _ => None,
    };
    (item, read)
}

pub(super) struct Reader<'a> {
    pub file: &'a str,
    pub errors: Vec<ConfigError>,
    pub objects: List<Wanted>,
}

impl Reader<'_> {
    /// Most problems that are reported of one file.
    const ERRORS_MAX: usize = 100;

    pub fn add(&mut self, at: Position, error: ObjectError) {
        if self.errors.len() < Self::ERRORS_MAX {
            self.errors.push(ConfigError { file: self.file.to_owned(), at, error });
        }
    }

    pub async fn sections(&mut self, control: &Control, root: Node, pace: &mut Pace) {
        let sections = match root.data {
            Data::Mapping(sections) => sections,
            Data::Scalar(Value::Null) => return,
            _ => {
                let remedy = "write sections such as 'taps:', each with a list of objects";
                return self.add(root.at, ObjectError::whole("the file is no mapping of sections").remedy(remedy));
            }
        };
        self.open(control, &sections);
        let kinds = control.objects().kinds();
        let names = || kinds.iter().map(|kind| kind.name());
        for section in sections {
            let Some(kind) = kinds.iter().find(|kind| kind.name() == section.name) else {
                let remedy = match crate::cli::nearest(&section.name, names()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the kinds are: {}", names().collect::<Vec<_>>().join(", ")),
                };
                let error = ObjectError::whole(format!("there is no kind of objects '{}'", section.name));
                self.add(section.at, error.remedy(remedy));
                continue;
            };
            match section.value.data {
                Data::List(items) => self.objects(kind, items, pace).await,
                Data::Scalar(Value::Null) => {}
                _ => {
                    let error = ObjectError::whole(format!("'{}' is no list", section.name));
                    self.add(section.value.at, error.remedy("write each object behind '- '"));
                }
            }
        }
    }

    /// Opens the objects that bring further kinds. Other errors of these objects are reported when they are read.
    fn open(&mut self, control: &Control, sections: &[Entry]) {
        let kinds: Vec<_> = control.objects().kinds().into_iter().filter(|kind| kind.opens()).collect();
        for section in sections {
            let Some(kind) = kinds.iter().find(|kind| kind.name() == section.name) else { continue };
            let Data::List(items) = &section.value.data else { continue };
            for item in items.iter() {
                let Value::Object(values) = item.to_value() else { continue };
                if let Err(error) = kind.read(&values).map_or(Ok(()), |object| kind.open(control, &*object)) {
                    self.add(item.position_of(&error.field, true), error);
                }
            }
        }
    }

    async fn objects(&mut self, kind: &Rc<dyn AnyKind>, items: List<Node>, pace: &mut Pace) {
        let mut first_lines: Spread<Rc<str>, usize> = Spread::default();
        for item in items {
            pace.step().await;
            let (item, read) = read_item(kind, item, pace).await;
            let Some((read, values)) = read else {
                let error = ObjectError::whole(format!("{}: this is no object", kind.name()));
                self.add(item.at, error.remedy("write its fields as 'name: value' behind '- '"));
                continue;
            };
            match read {
                Ok(object) => {
                    let name = object.id();
                    match first_lines.get(&name.name) {
                        Some(line) => {
                            let error = ObjectError::whole(format!("it stands here again, first in line {line}"));
                            self.add(item.at, error.remedy("give it another key, or leave it out").of(&name));
                        }
                        None => {
                            first_lines.insert(name.name.clone(), item.at.line);
                            let (kind, runs) = (kind.clone(), Some(object.clone()));
                            self.objects.push(Wanted { kind, object, runs, node: item });
                        }
                    }
                }
                Err(problems) => {
                    // The error may be in the key: the object is named by the readable part of it.
                    let key: Vec<String> = kind
                        .fields()
                        .iter()
                        .filter(|field| field.key)
                        .filter_map(|field| values.get(field.name))
                        .map(write::scalar)
                        .collect();
                    let name = ObjectRef::new(kind.name(), key.join(" "));
                    for problem in problems {
                        // A field that is unknown is pointed at by its name, one that is wrong by its value.
                        let at = item.position_of(&problem.field, !problem.is_unknown_field());
                        self.add(at, problem.of(&name));
                    }
                }
            }
        }
        free(first_lines.into_entries(), pace).await;
    }
}

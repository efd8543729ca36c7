//! A configuration file as it was written, listed in turns.

use std::rc::Rc;

use serde_json::{Value, json};

use super::tree::{self, Data, Entry, Node};
use super::{HEADING, secrets, write};
use crate::cli::{Listing, Output, Reply};
use crate::control::Control;
use crate::list::List;
use crate::object::FieldInfo;
use crate::pace::{Pace, free};

/// Bytes of text that are listed in a step, about.
const STEP_BYTES: usize = 4096;

/// Lists a file as text and as JSON, which has null for a file without sections. Without its secrets it is written anew, unless it
/// has none.
pub(crate) async fn list_file(control: &Control, output: &Output, text: &str, has_secrets: bool) -> Reply {
    let mut pace = Pace::in_turns(control);
    if has_secrets && !output.wants_json() {
        return list_text(control, output, text).await.end();
    }
    let (root, _) = tree::read(text, &mut pace).await;
    let sections = match root.map(|root| root.data) {
        Some(Data::Mapping(sections)) => sections,
        _ => return Reply { json: Value::Null, ..list_text(control, output, text).await.end() },
    };
    let is_written = !has_secrets && has_any(control, &sections, &mut pace).await;
    if !is_written && !output.wants_json() {
        for section in sections {
            free(items(section.value), &mut pace).await;
        }
        return list_text(control, output, text).await.end();
    }
    let mut listing = match is_written {
        true => Listing::new(control, output),
        false => list_text(control, output, text).await,
    };
    if is_written {
        listing.text().push_str(HEADING);
    }
    for Entry { name, value, .. } in sections {
        let fields = fields_of(control, &name).filter(|_| !has_secrets);
        if is_written {
            write::section(listing.text(), &name);
        }
        if !matches!(value.data, Data::List(_)) {
            listing.entry(&name, || value.to_value());
            continue;
        }
        listing.entry(&name, || json!([]));
        for item in items(value) {
            listing.step().await;
            let mut record = item.to_value();
            if let (Some(fields), Some(values)) = (&fields, record.as_object_mut()) {
                secrets::hide(values, fields);
            }
            if is_written {
                write::record(listing.text(), &record);
            }
            listing.element_of(&name, || record);
        }
    }
    listing.end()
}

/// Lists a text line by line.
async fn list_text(control: &Control, output: &Output, text: &str) -> Listing {
    let mut listing = Listing::new(control, output);
    let mut rest = if output.wants_text() { text } else { "" };
    while !rest.is_empty() {
        listing.step().await;
        // Parts are joined by an end of line, and lose empty lines at their ends.
        let is_end = |pair: &[u8]| !pair[0].is_ascii_whitespace() && pair[1] == b'\n';
        let end = rest.as_bytes().windows(2).skip(STEP_BYTES).position(is_end).map(|end| STEP_BYTES + end + 2);
        let (some, behind) = rest.split_at(end.unwrap_or(rest.len()));
        listing.text().push_str(some);
        rest = behind;
    }
    listing
}

/// Whether an object of a file has a secret.
async fn has_any(control: &Control, sections: &[Entry], pace: &mut Pace) -> bool {
    for section in sections {
        let (Some(fields), Data::List(items)) = (fields_of(control, &section.name), &section.value.data) else {
            continue;
        };
        for item in items.iter() {
            pace.step().await;
            if item.to_value().as_object_mut().is_some_and(|values| secrets::hide(values, &fields)) {
                return true;
            }
        }
    }
    false
}

/// The fields of the kind of this name.
fn fields_of(control: &Control, kind: &str) -> Option<Rc<[FieldInfo]>> {
    control.objects().kinds().into_iter().find(|of| of.name() == kind).map(|kind| kind.fields())
}

fn items(node: Node) -> List<Node> {
    if let Data::List(items) = node.data { items } else { List::default() }
}

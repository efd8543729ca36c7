//! Long answers: made in short turns, and given out as they are made, so that neither the control thread nor memory is taken by
//! however much there is to list.

use serde_json::{Value, json};

use super::{Cell, Output, Reply, Table};
use crate::control::Control;
use crate::pace::Pace;

/// Bytes of text that are given out as a part.
const PART_BYTES: usize = 16 << 10;
/// Elements of JSON in a part.
const PART_ELEMENTS: usize = 64;
/// Rows whose cells say how wide the columns of a table are.
const FIRST_ROWS: usize = 256;

/// An answer that lists something: lines as text, and a list as JSON.
///
/// The items may change while they are listed. Go through them by keys, in their order, and look each up in the turn in which it
/// is listed. Then an item that exists all the time is listed once, one that comes or goes meanwhile at most once, and each as it
/// is in one moment.
///
/// ```
/// use quiver_control::Control;
/// use quiver_control::cli::{CommandError, Listing, Matches, Output, Reply};
///
/// async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
///     let mut listing = Listing::new(&control, &output);
///     for number in 0..1_000_000 {
///         listing.step().await;
///         listing.line(&format!("number {number}"));
///         listing.element(|| number.into());
///     }
///     Ok(listing.end())
/// }
/// ```
pub struct Listing {
    output: Output,
    pace: Pace,
    text: String,
    json: Value,
    elements: usize,
    /// The name of the list, where it is in a mapping.
    name: Option<&'static str>,
}

impl Listing {
    /// An empty list.
    pub fn new(control: &Control, output: &Output) -> Listing {
        let (output, pace) = (output.clone(), Pace::in_turns(control));
        Listing { output, pace, text: String::new(), json: json!([]), elements: 0, name: None }
    }

    /// The same, which is a mapping in JSON, and in it the list of this name.
    pub fn named(self, name: &'static str) -> Listing {
        Listing { json: json!({name: []}), name: Some(name), ..self }
    }

    /// Whether the reader takes text.
    pub fn wants_text(&self) -> bool {
        self.output.wants_text()
    }

    /// Whether the reader takes JSON.
    pub fn wants_json(&self) -> bool {
        self.output.wants_json()
    }

    /// The pending text. It is discarded if the reader takes no text.
    pub fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Adds a line.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds an element of the list, which is made only if the reader takes JSON.
    pub fn element(&mut self, element: impl FnOnce() -> Value) {
        if self.output.wants_json() {
            let element = element();
            self.add(self.name, [element]);
        }
    }

    /// Adds an element of a list among several, each of which is in a mapping by its name.
    pub fn element_of(&mut self, list: &str, element: impl FnOnce() -> Value) {
        if self.output.wants_json() {
            self.add(Some(list), [element()]);
        }
    }

    /// Adds an entry to a mapping among several, each of which is in a mapping by its name.
    pub fn entry_of(&mut self, mapping: &str, key: &str, value: impl FnOnce() -> Value) {
        if self.output.wants_json() {
            if !self.json.is_object() {
                self.json = json!({});
            }
            self.json[mapping][key] = value();
            self.elements += 1;
        }
    }

    /// Joins a part to the mapping that the answer is in JSON, as [`join_json`](super::join_json) does: so many elements of a list
    /// somewhere in it.
    pub fn join(&mut self, elements: usize, part: impl FnOnce() -> Value) {
        if self.output.wants_json() {
            if !self.json.is_object() {
                self.json = json!({});
            }
            super::join_json(&mut self.json, part());
            self.elements += elements;
        }
    }

    /// Adds an entry to the mapping that the answer is in JSON.
    pub fn entry(&mut self, key: &str, value: impl FnOnce() -> Value) {
        if self.output.wants_json() {
            if !self.json.is_object() {
                self.json = json!({});
            }
            self.json[key] = value();
            self.elements += 1;
        }
    }

    fn add(&mut self, list: Option<&str>, elements: impl IntoIterator<Item = Value>) {
        let elements = elements.into_iter().inspect(|_| self.elements += 1);
        let list = match list {
            None => &mut self.json,
            Some(name) => {
                if !self.json.is_object() {
                    self.json = json!({});
                }
                &mut self.json[name]
            }
        };
        match list {
            Value::Array(list) => list.extend(elements),
            other => *other = elements.collect(),
        }
    }

    /// Takes note of a piece of work, where nothing may be waited for, as under a borrow. False if the turn is over by then:
    /// [`Listing::next_turn`] comes before any other.
    pub fn goes_on(&mut self) -> bool {
        self.pace.goes_on()
    }

    /// Sends the pending part if it is large enough, and lets others have their turn.
    pub async fn next_turn(&mut self) {
        self.give_out().await;
        self.pace.next_turn().await;
    }

    /// Call before each piece of work; lets other tasks run if this turn was long.
    pub async fn step(&mut self) {
        if !self.pace.goes_on() {
            self.next_turn().await;
        }
    }

    async fn give_out(&mut self) {
        if !self.output.wants_text() {
            self.text.clear();
        }
        if self.text.len() >= PART_BYTES || self.elements >= PART_ELEMENTS {
            let part = self.part();
            self.output.send(part).await;
        }
    }

    fn part(&mut self) -> Reply {
        let empty = match self.name {
            Some(name) => json!({name: []}),
            None if self.json.is_object() => json!({}),
            None => json!([]),
        };
        self.elements = 0;
        Reply::part_of_more(std::mem::take(&mut self.text), std::mem::replace(&mut self.json, empty))
    }

    /// The end of the answer.
    pub fn end(mut self) -> Reply {
        let Reply { text, json, .. } = self.part();
        Reply::new(text, json)
    }

    /// The same, with more fields of the mapping in which the list is.
    pub fn end_with(self, fields: Value) -> Reply {
        let mut end = self.end();
        super::join_json(&mut end.json, fields);
        end
    }
}

/// Gives out an answer that was made in one turn, and is long, in parts as [`Listing`] would; the last of them is returned.
pub(crate) async fn in_parts(control: &Control, output: &Output, mut whole: Reply) -> Reply {
    let mut pace = Pace::in_turns(control);
    let mut rest = if output.wants_text() { whole.text.as_str() } else { "" };
    while rest.len() > 2 * PART_BYTES {
        let end = rest.as_bytes()[..PART_BYTES].iter().rposition(|byte| *byte == b'\n').or_else(|| rest.find('\n'));
        let Some(end) = end else { break };
        pace.step().await;
        // An end of lines stands between two parts, whatever they are.
        output.send(Reply { text: rest[..end].to_owned(), more: true, ..Reply::default() }).await;
        rest = &rest[end + 1..];
    }
    whole.text = rest.to_owned();
    whole.json = match (output.wants_json(), std::mem::take(&mut whole.json)) {
        (true, Value::Array(list)) => list_in_parts(output, &mut pace, list, &|part| part).await,
        (true, Value::Object(mut fields)) => {
            for (name, value) in &mut fields {
                if let Value::Array(list) = value {
                    let list = std::mem::take(list);
                    *value = list_in_parts(output, &mut pace, list, &|part| json!({name: part})).await;
                }
            }
            Value::Object(fields)
        }
        (true, json) => json,
        // No client reads it, but to free it takes as long.
        (false, json) => {
            let lists: Vec<Value> = match json {
                Value::Object(fields) => fields.into_iter().map(|(_, value)| value).collect(),
                list => vec![list],
            };
            for element in lists.into_iter().flat_map(elements) {
                pace.step().await;
                drop(element);
            }
            Value::Null
        }
    };
    whole
}

/// The elements of a list; none of anything else.
fn elements(list: Value) -> Vec<Value> {
    if let Value::Array(list) = list { list } else { vec![] }
}

/// Gives out a list but for its last part, which is returned.
async fn list_in_parts(output: &Output, pace: &mut Pace, list: Vec<Value>, json: &dyn Fn(Value) -> Value) -> Value {
    let mut list = list.into_iter().peekable();
    loop {
        let part = Value::Array(list.by_ref().take(PART_ELEMENTS).collect());
        if list.peek().is_none() {
            return part;
        }
        pace.step().await;
        output.send(Reply { json: json(part), more: true, ..Reply::default() }).await;
    }
}

/// A long table. Columns are as wide as the widest cells of the first rows, or of later ones from where these come.
pub struct Rows {
    listing: Listing,
    /// Rows whose text is still to be written.
    table: Table,
    /// The names of a row's fields in JSON.
    names: Vec<String>,
    columns: Vec<(usize, bool)>,
}

impl Rows {
    /// An empty table with the titles of its columns.
    pub fn new<'a>(control: &Control, output: &Output, titles: impl IntoIterator<Item = &'a str>) -> Rows {
        let table = Table::new(titles);
        Rows { listing: Listing::new(control, output), names: table.names(), table, columns: vec![] }
    }

    /// The same, which is in a mapping in JSON, under this name.
    pub fn named(self, name: &'static str) -> Rows {
        Rows { listing: self.listing.named(name), ..self }
    }

    /// Adds a row: a cell for each column. Missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.row_with(cells, || Value::Null);
    }

    /// The same with more fields in JSON.
    pub fn row_with(&mut self, cells: impl IntoIterator<Item = Cell>, fields: impl FnOnce() -> Value) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize_with(self.names.len(), Cell::empty);
        if self.listing.wants_json() {
            let mut row = Table::row_json(&self.names, &cells);
            super::join_json(&mut row, fields());
            self.listing.add(self.listing.name, [row]);
        }
        if self.listing.wants_text() {
            self.table.row(cells);
        }
    }

    /// Adds a row for each item of which `row` makes one, in turns.
    pub async fn each<T, R: IntoIterator<Item = Cell>>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut row: impl FnMut(T) -> Option<R>,
    ) {
        for item in items {
            self.step().await;
            if let Some(row) = row(item) {
                self.row(row);
            }
        }
    }

    /// As [`Listing::goes_on`].
    pub fn goes_on(&mut self) -> bool {
        self.listing.goes_on()
    }

    /// As [`Listing::next_turn`].
    pub async fn next_turn(&mut self) {
        let enough = if self.columns.is_empty() { FIRST_ROWS } else { PART_ELEMENTS };
        if self.table.len() >= enough {
            self.write();
        }
        self.listing.next_turn().await;
    }

    /// As [`Listing::step`].
    pub async fn step(&mut self) {
        if !self.goes_on() {
            self.next_turn().await;
        }
    }

    /// Writes the text of the rows that wait for it.
    fn write(&mut self) {
        if !self.listing.wants_text() {
            return;
        }
        let (is_first, now) = (self.columns.is_empty(), self.table.columns());
        match is_first {
            true => {
                self.columns = now;
                self.table.write_titles(&mut self.listing.text, &self.columns);
            }
            false => self.columns.iter_mut().zip(now).for_each(|(column, now)| column.0 = column.0.max(now.0)),
        }
        self.table.write_rows(&mut self.listing.text, &self.columns);
        self.table.clear();
    }

    /// The end of the table.
    pub fn end(self) -> Reply {
        self.end_table().end()
    }

    /// The same, where the answer goes on.
    pub fn end_table(mut self) -> Listing {
        self.write();
        self.listing
    }

    /// The same, with lines behind it, and more fields of the mapping in which it is.
    pub fn end_with(mut self, lines: &str, fields: Value) -> Reply {
        self.write();
        self.listing.text.push_str(lines);
        self.listing.end_with(fields)
    }
}

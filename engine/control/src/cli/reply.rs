//! Answer of a command: text for people and JSON for programs, from one description.

use serde_json::Value;

/// An answer: the same content as text and as JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// For people: lines, without a newline at the end; empty if there is nothing to say.
    pub text: String,
    /// For programs.
    pub json: Value,
    /// Whether the command did its work and found that something is wrong, as a ping without any answer does. The exit status
    /// of `quiver` says so.
    pub failed: bool,
    /// Whether the answer goes on in the next part or in the end: its lines follow, its lists go on
    /// ([`Reply::append`]).
    pub more: bool,
}

impl Reply {
    /// Nothing to say: it was done.
    pub fn done() -> Reply {
        Reply::default()
    }

    /// Text and JSON that say the same.
    pub fn new(text: impl Into<String>, json: Value) -> Reply {
        let mut text = text.into();
        text.truncate(text.trim_end().len());
        Reply { text, json, ..Reply::default() }
    }

    /// A text, which is a string in JSON.
    pub fn text(text: impl Into<String>) -> Reply {
        let reply = Reply::new(text, Value::Null);
        Reply { json: Value::String(reply.text.clone()), ..reply }
    }

    /// A part of an answer that goes on.
    pub fn part_of_more(text: impl Into<String>, json: Value) -> Reply {
        Reply { more: true, ..Reply::new(text, json) }
    }

    /// Appends the next part of the answer.
    pub fn append(&mut self, next: Reply) {
        if !self.text.is_empty() && !next.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&next.text);
        join_json(&mut self.json, next.json);
        self.failed |= next.failed;
        self.more = next.more;
    }

    /// The same, which says that something is wrong if that is so.
    pub fn failed_if(self, failed: bool) -> Reply {
        Reply { failed, ..self }
    }
}

/// Appends JSON of the next part: lists are joined, mappings are merged by key, and other values are replaced.
pub fn join_json(value: &mut Value, next: Value) {
    match (value, next) {
        (_, Value::Null) => {}
        (Value::Array(list), Value::Array(next)) => list.extend(next),
        (Value::Object(fields), Value::Object(next)) => {
            for (name, next) in next {
                join_json(fields.entry(name).or_insert(Value::Null), next);
            }
        }
        (value, next) => *value = next,
    }
}

impl From<Table> for Reply {
    fn from(table: Table) -> Reply {
        Reply::new(table.to_text(), table.to_json())
    }
}

/// A table: aligned columns as text, a list of mappings as JSON.
///
/// ```
/// use quiver_control::cli::{Cell, Table};
///
/// let mut table = Table::new(["Name", "MTU", "RX packets"]);
/// table.row([Cell::from("tap0"), Cell::from(1500), Cell::from(7)]);
/// assert_eq!(table.to_text(), "Name   MTU  RX packets\ntap0  1500           7\n");
/// assert_eq!(table.to_json()[0]["rx-packets"], 7);
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    json: Value,
}

impl Cell {
    /// A cell that people read as `text` and programs as `json`: `Cell::new("1.5 G", 1_500_000_000)`.
    pub fn new(text: impl Into<String>, json: impl Into<Value>) -> Cell {
        Cell { text: text.into(), json: json.into() }
    }

    /// Creates a cell from the value's `Display` text.
    pub fn of(value: impl std::fmt::Display) -> Cell {
        Cell::from(value.to_string())
    }

    /// An empty cell; null in JSON.
    pub fn empty() -> Cell {
        Cell { text: String::new(), json: Value::Null }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text, text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text.clone(), text)
    }
}

macro_rules! number_cells {
    ($($type:ty)*) => {$(
        impl From<$type> for Cell {
            fn from(number: $type) -> Cell {
                Cell::new(number.to_string(), number)
            }
        }
    )*};
}
number_cells!(u8 u16 u32 u64 usize i32 i64);

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::new(format!("{number:.2}"), number)
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Cell {
        Cell::new(if truth { "yes" } else { "no" }, truth)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or_else(Cell::empty, T::into)
    }
}

impl Table {
    /// An empty table with the titles of its columns.
    pub fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Table {
        Table { titles: titles.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column. Missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().collect();
        row.resize_with(self.titles.len(), Cell::empty);
        self.rows.push(row);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Titles and rows as lines, in columns; numbers are aligned to the right.
    pub fn to_text(&self) -> String {
        let columns = self.columns();
        let mut text = String::new();
        self.write_titles(&mut text, &columns);
        self.write_rows(&mut text, &columns);
        text
    }

    /// The width of each column, and whether its cells are numbers.
    pub(super) fn columns(&self) -> Vec<(usize, bool)> {
        self.titles
            .iter()
            .enumerate()
            .map(|(index, title)| {
                let cells = || self.rows.iter().filter_map(move |row| row.get(index));
                let width = cells().map(|cell| width(&cell.text)).max().unwrap_or(0).max(width(title));
                let numeric = cells().any(|cell| cell.json.is_number())
                    && cells().all(|cell| cell.json.is_number() || cell.json.is_null());
                (width, numeric)
            })
            .collect()
    }

    /// Writes the titles, in these columns.
    pub(super) fn write_titles(&self, text: &mut String, columns: &[(usize, bool)]) {
        line(text, columns, &mut self.titles.iter().map(String::as_str));
    }

    /// Writes the rows, in these columns.
    pub(super) fn write_rows(&self, text: &mut String, columns: &[(usize, bool)]) {
        for row in &self.rows {
            line(text, columns, &mut row.iter().map(|cell| cell.text.as_str()));
        }
    }

    /// Forgets the rows, and keeps the titles.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// The rows as mappings from the titles, in the form `rx-packets`, to the cells.
    pub fn to_json(&self) -> Value {
        let names = self.names();
        self.rows.iter().map(|cells| Table::row_json(&names, cells)).collect()
    }

    /// The names of a row's fields in JSON.
    pub(super) fn names(&self) -> Vec<String> {
        self.titles.iter().map(|title| title.to_lowercase().replace([' ', '_', '/'], "-")).collect()
    }

    /// A row in JSON.
    pub(super) fn row_json(names: &[String], cells: &[Cell]) -> Value {
        Value::Object(names.iter().cloned().zip(cells.iter().map(|cell| cell.json.clone())).collect())
    }
}

fn line(text: &mut String, columns: &[(usize, bool)], cells: &mut dyn Iterator<Item = &str>) {
    let start = text.len();
    for (cell, (column, right)) in cells.zip(columns) {
        let gap = " ".repeat(column.saturating_sub(width(cell)));
        let (before, after) = if *right { (gap.as_str(), "") } else { ("", gap.as_str()) };
        text.extend([if text.len() > start { "  " } else { "" }, before, cell, after]);
    }
    text.truncate(start + text[start..].trim_end().len());
    text.push('\n');
}

fn width(text: &str) -> usize {
    text.chars().count()
}

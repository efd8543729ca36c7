//! The rows of bench/*.csv, as the benches append them.

use std::path::Path;

use quiver_kept::cells;

/// A file's rows.
pub struct Rows {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A row with the names of its columns.
pub struct Row<'r> {
    head: &'r [String],
    cells: &'r [String],
}

impl Row<'_> {
    /// A cell; empty if there is no such column.
    pub fn get(&self, column: &str) -> &str {
        let place = self.head.iter().position(|head| head == column);
        place.and_then(|place| self.cells.get(place)).map_or("", String::as_str)
    }
    /// A cell that is a number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.get(column).parse().ok()
    }
}

impl Rows {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Rows, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut lines = text.lines().map(cells);
        let head = lines.next().ok_or_else(|| format!("{} is empty", file.display()))?;
        Ok(Rows { head, rows: lines.collect() })
    }
    /// Of rows that agree in some columns the last, in the order of the first ones.
    pub fn last_by(self, key: &[&str]) -> Rows {
        let mut rows: Vec<Vec<String>> = vec![];
        let of = |cells: &[String]| -> Vec<String> {
            let row = Row { head: &self.head, cells };
            key.iter().map(|column| row.get(column).to_owned()).collect()
        };
        for cells in &self.rows {
            match rows.iter_mut().find(|known| of(known) == of(cells)) {
                Some(known) => known.clone_from(cells),
                None => rows.push(cells.clone()),
            }
        }
        Rows { rows, head: self.head }
    }
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { head: &self.head, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotation_marks_are_text() {
        assert_eq!(cells("2026-11-22,\"ip4, 8 routes\",,7"), ["2026-11-22", "ip4, 8 routes", "", "7"]);
    }

    #[test]
    fn the_last_row_of_a_kind_counts_in_the_place_of_the_first() {
        let lines = ["a,1", "b,2", "a,3"].map(cells).to_vec();
        let rows = Rows { head: cells("name,value"), rows: lines }.last_by(&["name"]);
        let found: Vec<_> = rows.iter().map(|row| (row.get("name").to_owned(), row.number("value"))).collect();
        assert_eq!(found, [("a".to_owned(), Some(3.0)), ("b".to_owned(), Some(2.0))]);
    }
}

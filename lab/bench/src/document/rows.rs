//! The rows of bench/*.csv, as the benches append them.

use std::path::Path;

use quiver_kept::cells;

/// Columns that are equal in all rows of a run: time, revision and machine.
const RUN: [&str; 5] = ["date", "revision", "cpu", "pages", "level"];

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
        Rows::of_text(&text).ok_or_else(|| format!("{} is empty", file.display()))
    }
    /// A head line, and the rows below; none of an empty text.
    pub fn of_text(text: &str) -> Option<Rows> {
        let mut lines = text.lines().map(cells);
        Some(Rows { head: lines.next()?, rows: lines.collect() })
    }
    /// The rows for which this is true.
    pub fn only(self, is_meant: impl Fn(&Row) -> bool) -> Rows {
        let Rows { head, mut rows } = self;
        rows.retain(|cells| is_meant(&Row { head: &head, cells }));
        Rows { head, rows }
    }
    /// The last of the rows with equal values in these columns, in the order of the first ones.
    pub fn last_by(self, key: &[&str]) -> Rows {
        let mut rows: Vec<Vec<String>> = vec![];
        for cells in &self.rows {
            match rows.iter_mut().find(|known| self.of(known, key) == self.of(cells, key)) {
                Some(known) => known.clone_from(cells),
                None => rows.push(cells.clone()),
            }
        }
        Rows { rows, head: self.head }
    }
    /// The rows of each run, the oldest first. What was measured in parts, of one revision on one day, is one run.
    pub fn runs(&self) -> Vec<Rows> {
        let mut runs: Vec<Rows> = vec![];
        for cells in &self.rows {
            match runs.iter_mut().find(|run| self.of(&run.rows[0], &RUN) == self.of(cells, &RUN)) {
                Some(run) => run.rows.push(cells.clone()),
                None => runs.push(Rows { head: self.head.clone(), rows: vec![cells.clone()] }),
            }
        }
        runs
    }
    /// Some cells of a row.
    fn of(&self, cells: &[String], columns: &[&str]) -> Vec<String> {
        let row = Row { head: &self.head, cells };
        columns.iter().map(|column| row.get(column).to_owned()).collect()
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
        let rows = Rows::of_text("name,value\na,1\nb,2\na,3").expect("a head").last_by(&["name"]);
        let found: Vec<_> = rows.iter().map(|row| (row.get("name").to_owned(), row.number("value"))).collect();
        assert_eq!(found, [("a".to_owned(), Some(3.0)), ("b".to_owned(), Some(2.0))]);
    }

    #[test]
    fn a_run_is_of_one_machine_and_revision() {
        let text = "date,revision,cpu,value\n1,a,X,1\n1,a,Y,2\n1,a,X,3\n1,b,X,4\n2,b,X,5";
        let values = |run: &Rows| run.iter().filter_map(|row| row.number("value")).collect::<Vec<_>>();
        let runs: Vec<_> = Rows::of_text(text).expect("a head").runs().iter().map(values).collect();
        assert_eq!(runs, [vec![1.0, 3.0], vec![2.0], vec![4.0], vec![5.0]]);
    }
}

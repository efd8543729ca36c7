//! Counts that were kept in a file, and new ones beside them: within 2 % for the same version of the compiler. Another
//! version makes other code, so what was kept for it says nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How far a count may be from what was kept, of that.
const TOLERANCE: f64 = 0.02;

/// The key of a count: path, level and so on, the file's columns between the compiler and the count.
pub type Key = Vec<String>;

/// Counts by what was counted.
pub type Counts = BTreeMap<Key, f64>;

/// A file of counts, read.
pub struct KeptCounts {
    file: PathBuf,
    head: String,
    /// The command that writes the lines of a compiler, for messages.
    command: &'static str,
    by_compiler: BTreeMap<String, Counts>,
}

/// Why counts cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The system refused.
    #[error("{}: {source}", file.display())]
    System {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line is no row of this file.
    #[error("{}:{line}: {problem}; mend it, or take it off and run `UPDATE=1 {command}`", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The problem.
        problem: String,
        /// The command that writes lines.
        command: &'static str,
    },
}

/// Result of comparing, or of keeping.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// All counts are what they were; so many.
    Same(usize),
    /// Nothing is kept for this compiler: the sentence that says so.
    Skipped(String),
    /// The file was written anew, with so many lines of this compiler.
    Written(usize),
    /// A sentence for each count that is another one.
    Changed(Vec<String>),
}

impl KeptCounts {
    /// Reads a file; one that is not there holds nothing. `columns` are those of the key, `count` the last one.
    pub fn read(file: &Path, columns: &[&str], count: &str, command: &'static str) -> Result<KeptCounts, KeptError> {
        let head = format!("rustc,{},{count}", columns.join(","));
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => head.clone(),
            Err(source) => return Err(KeptError::System { file: file.into(), source }),
        };
        let mut by_compiler = BTreeMap::<String, Counts>::new();
        for (line, row) in (1..).zip(text.lines()) {
            let wrong = |problem: String| KeptError::Line { file: file.into(), line, problem, command };
            if line == 1 {
                if row != head {
                    return Err(wrong(format!("the first line is `{row}`, and should be `{head}`")));
                }
                continue;
            }
            let mut cells = cells(row);
            let number = cells.pop().and_then(|cell| cell.parse().ok());
            let number: f64 = number.ok_or_else(|| wrong("the last cell is no number".into()))?;
            if cells.len() != columns.len() + 1 {
                return Err(wrong(format!("there are {} cells in front of the count", cells.len())));
            }
            let compiler = cells.remove(0);
            if by_compiler.entry(compiler).or_default().insert(cells, number).is_some() {
                return Err(wrong("an earlier line says the same".into()));
            }
        }
        Ok(KeptCounts { file: file.into(), head, command, by_compiler })
    }
    /// Compares counts with those of the same compiler, or, if asked to, keeps them instead.
    pub fn settle(mut self, compiler: &str, counts: Counts, update: bool) -> Result<Outcome, KeptError> {
        if !update {
            return Ok(self.compare(compiler, &counts));
        }
        let written = counts.len();
        self.by_compiler.insert(compiler.into(), counts);
        let mut text = self.head.clone() + "\n";
        for (compiler, counts) in &self.by_compiler {
            for (key, count) in counts {
                let cells: Vec<_> = std::iter::once(compiler).chain(key).map(|cell| quoted(cell)).collect();
                text.push_str(&format!("{},{}\n", cells.join(","), shown(*count)));
            }
        }
        std::fs::write(&self.file, text).map_err(|source| KeptError::System { file: self.file, source })?;
        Ok(Outcome::Written(written))
    }
    fn compare(&self, compiler: &str, counts: &Counts) -> Outcome {
        let (file, command) = (self.file.display(), self.command);
        let Some(kept) = self.by_compiler.get(compiler) else {
            return Outcome::Skipped(format!(
                "skipped: {file} has no rows for rustc {compiler}; make them with `UPDATE=1 {command}`"
            ));
        };
        let mut problems = vec![];
        for (key, new) in counts {
            let what = key.join(", ");
            match kept.get(key) {
                None => problems.push(format!(
                    "{what}: {} now, and {file} has no row of it; keep it by `UPDATE=1 {command}`",
                    shown(*new)
                )),
                Some(old) if (new - old).abs() > TOLERANCE * old => {
                    let percent = 100.0 * (new - old) / old;
                    let advice = if new > old { "find out why; if it is worth it," } else { "so that the gain stays," };
                    problems.push(format!(
                        "{what}: {} now, {} before ({percent:+.1} %); {advice} keep it by `UPDATE=1 {command}`",
                        shown(*new),
                        shown(*old)
                    ));
                }
                Some(_) => {}
            }
        }
        let gone = kept.keys().filter(|key| !counts.contains_key(*key));
        problems.extend(gone.map(|key| {
            format!(
                "{}: {file} has a row of it, but it is not there; take it off by `UPDATE=1 {command}`",
                key.join(", ")
            )
        }));
        if problems.is_empty() { Outcome::Same(counts.len()) } else { Outcome::Changed(problems) }
    }
}

/// Whether the one who runs this asks to keep what is counted: `UPDATE=1`, as for golden files.
pub fn update_is_asked() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// A count with as many digits as it needs.
fn shown(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count:.0}") } else { format!("{count:.2}") }
}

/// A cell; one with a comma stands in quotation marks.
pub fn quoted(cell: &str) -> String {
    if cell.contains(',') { format!("\"{cell}\"") } else { cell.to_owned() }
}

/// The cells of a line; those in quotation marks may hold commas.
pub fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            character => cells.last_mut().into_iter().for_each(|cell| cell.push(character)),
        }
    }
    cells
}

#[cfg(test)]
mod tests;

//! The file: row groups of documents, column by column.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use quiver_result::Stored;
use tempfile::NamedTempFile;

use crate::columns::{COLUMNS, Cell, Column, Kind, Source};

/// Documents of a row group: a soak test has some hundred trials, so a group has some megabytes.
const GROUP: usize = 1000;

/// A file that is being written.
pub struct Export {
    path: PathBuf,
    writer: SerializedFileWriter<NamedTempFile>,
    waiting: Vec<Stored>,
    rows: usize,
}

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The system says no.
    #[error("{path}: cannot be written: {error}")]
    Write {
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// There are no rows. An existing file is not replaced by an empty table.
    #[error("{path}: not written: there is no document to export; name the place that has some by --results")]
    Nothing {
        /// The path.
        path: PathBuf,
    },
    /// The library says no.
    #[error("{path}: cannot be written: {error}")]
    Parquet {
        /// The path.
        path: PathBuf,
        /// The error.
        error: ParquetError,
    },
}

impl Export {
    /// Begins a file, beside its place: what stands there is replaced when this one is whole.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn new(path: &Path) -> Result<Export, ExportError> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let failed = |error| ExportError::Write { path: path.to_owned(), error };
        let file = NamedTempFile::new_in(folder).map_err(failed)?;
        let failed = |error| ExportError::Parquet { path: path.to_owned(), error };
        let schema = parse_message_type(&schema()).map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Export { path: path.to_owned(), writer, waiting: Vec::new(), rows: 0 })
    }

    /// Adds a document.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, stored: Stored) -> Result<(), ExportError> {
        self.waiting.push(stored);
        match self.waiting.len() {
            GROUP => self.flush(),
            _ => Ok(()),
        }
    }

    /// Ends the file and puts it in its place; the answer is how many rows it has.
    ///
    /// # Errors
    /// It cannot be written, or there is nothing to write. What stood there before still does.
    pub fn finish(mut self) -> Result<usize, ExportError> {
        self.flush()?;
        if self.rows == 0 {
            return Err(ExportError::Nothing { path: self.path });
        }
        let Export { path, writer, rows, .. } = self;
        let file = writer.into_inner().map_err(|error| ExportError::Parquet { path: path.clone(), error })?;
        let done = file.as_file().sync_all().and_then(|()| file.persist(&path).map_err(|error| error.error));
        done.map(|_| rows).map_err(|error| ExportError::Write { path, error })
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let group = std::mem::take(&mut self.waiting);
        self.rows += group.len();
        write(&mut self.writer, &group).map_err(|error| ExportError::Parquet { path: self.path.clone(), error })
    }
}

/// Parquet's own language.
fn schema() -> String {
    let mut text = String::from("message tests {\n");
    let mut list = None;
    for column in COLUMNS {
        if list != column.list() {
            if list.is_some() {
                text += "  } } }\n";
            }
            if let Some(name) = column.list() {
                text +=
                    &format!("  REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED GROUP element {{\n");
            }
            list = column.list();
        }
        let (kind, name) = (primitive(column.kind), column.name);
        text += &match column.source {
            Source::Texts(_) => {
                let element = format!("OPTIONAL {} element {};", kind.0, kind.1);
                format!("  REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ {element} }} }}\n")
            }
            _ => format!("    OPTIONAL {} {name} {};\n", kind.0, kind.1),
        };
    }
    text + if list.is_some() { "  } } }\n}\n" } else { "}\n" }
}

/// The physical type, and what it means.
fn primitive(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Text => ("BYTE_ARRAY", "(STRING)"),
        Kind::Count => ("INT64", "(INTEGER(64,false))"),
        Kind::Number => ("DOUBLE", ""),
        Kind::Flag => ("BOOLEAN", ""),
        Kind::Time => ("INT64", "(TIMESTAMP(MICROS,true))"),
    }
}

/// Values of a column with their levels, after Dremel's: how deep a value is defined, and in which list it goes on.
#[derive(Default)]
struct Values {
    cells: Vec<Cell>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Values {
    fn of(column: &Column, group: &[Stored]) -> Values {
        let mut values = Values::default();
        for stored in group {
            let extension = stored.document.quiver.as_ref();
            match column.source {
                Source::One(value) => values.one(value(stored)),
                Source::Texts(texts) => {
                    values.list(texts(&stored.document).into_iter().map(|text| Some(Cell::Text(text))))
                }
                Source::Trial(value) => values.list(extension.iter().flat_map(|own| own.trials.iter().map(value))),
                Source::Figure(value) => values.list(extension.iter().flat_map(|own| own.figures.iter().map(value))),
            }
        }
        values
    }

    fn one(&mut self, cell: Option<Cell>) {
        self.definitions.push(cell.is_some().into());
        self.repetitions.push(0);
        self.cells.extend(cell);
    }

    fn list(&mut self, cells: impl Iterator<Item = Option<Cell>>) {
        let mut repetition = 0;
        for cell in cells {
            self.definitions.push(1 + i16::from(cell.is_some()));
            self.repetitions.push(repetition);
            self.cells.extend(cell);
            repetition = 1;
        }
        // An empty list is told, too.
        if repetition == 0 {
            self.definitions.push(0);
            self.repetitions.push(0);
        }
    }

    /// The values of one kind, which all of a column are.
    fn all<T>(&self, value: impl Fn(&Cell) -> Option<T>) -> Vec<T> {
        self.cells.iter().filter_map(value).collect()
    }
}

fn write(writer: &mut SerializedFileWriter<NamedTempFile>, group: &[Stored]) -> Result<(), ParquetError> {
    let mut row_group = writer.next_row_group()?;
    for column in COLUMNS {
        let values = Values::of(column, group);
        let Some(mut writer) = row_group.next_column()? else {
            return Err(ParquetError::General(format!("the schema has no column {}", column.name)));
        };
        let repetitions = (column.list().is_some() || matches!(column.source, Source::Texts(_)))
            .then_some(values.repetitions.as_slice());
        let definitions = Some(values.definitions.as_slice());
        match writer.untyped() {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let texts = values.all(|cell| match cell {
                    Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                    _ => None,
                });
                writer.write_batch(&texts, definitions, repetitions)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                let numbers = values.all(|cell| match cell {
                    // The same bits, as Parquet has its unsigned numbers.
                    Cell::Count(count) => Some(count.cast_signed()),
                    Cell::Time(time) => Some(*time),
                    _ => None,
                });
                writer.write_batch(&numbers, definitions, repetitions)?;
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                let numbers = values.all(|cell| match cell {
                    Cell::Number(number) => Some(*number),
                    _ => None,
                });
                writer.write_batch(&numbers, definitions, repetitions)?;
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                let flags = values.all(|cell| match cell {
                    Cell::Flag(flag) => Some(*flag),
                    _ => None,
                });
                writer.write_batch(&flags, definitions, repetitions)?;
            }
            _ => return Err(ParquetError::General(format!("column {} has an unknown type", column.name))),
        }
        writer.close()?;
    }
    row_group.close().map(drop)
}

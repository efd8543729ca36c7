//! Documents of a file, taken out again.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use parquet::schema::types::Type;
use quiver_result::{Document, Skipped, Stored};

/// Columns that are read: where the document was, and its text.
const COLUMNS: [&str; 2] = ["document", "json"];

/// A file that documents cannot be read from.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be opened.
    #[error("{path}: cannot be read: {error}; name a file that quiver lab export has written")]
    Open {
        /// The path.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// It is no Parquet file, or a damaged one.
    #[error("{path}: cannot be read: {error}; write it again by quiver lab export")]
    Parquet {
        /// The path.
        path: PathBuf,
        /// The error.
        error: ParquetError,
    },
    /// It is a file of another program, or of an older release.
    #[error("{path}: has no column `{column}`; write it again by quiver lab export")]
    Column {
        /// The path.
        path: PathBuf,
        /// The column that is missing.
        column: &'static str,
    },
}

/// Hands all documents of a file to `each`, row group by row group, in the file's order; and in their place what is none.
///
/// # Errors
/// The file cannot be read, or `each` fails.
pub fn read<E: From<ReadError>>(
    path: &Path,
    mut each: impl FnMut(Result<Stored, Skipped>) -> Result<(), E>,
) -> Result<(), E> {
    let file = File::open(path).map_err(|error| ReadError::Open { path: path.to_owned(), error })?;
    let failed = |error| ReadError::Parquet { path: path.to_owned(), error };
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let schema = reader.metadata().file_metadata().schema();
    let mut fields = Vec::new();
    for column in COLUMNS {
        let field = schema.get_fields().iter().find(|field| field.name() == column);
        fields.push(field.ok_or_else(|| ReadError::Column { path: path.to_owned(), column })?.clone());
    }
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build().map_err(failed)?;
    for row in reader.get_row_iter(Some(projection)).map_err(failed)? {
        let row = row.map_err(failed)?;
        let (place, text) = (row.get_string(0).map_err(failed)?, row.get_string(1).map_err(failed)?);
        let place = PathBuf::from(place);
        each(match Document::parse(text.as_bytes()) {
            Ok(document) => Ok(Stored { path: place, document }),
            Err(invalid) => Err(Skipped::Invalid { path: place, invalid }),
        })?;
    }
    Ok(())
}

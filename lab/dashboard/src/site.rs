//! A site: documents go in, a folder comes out.

use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use quiver_result::{Invalid, Stored, Time};
use serde_json::{Value, json};

use crate::collection::{Collection, microseconds};
use crate::columns::{differences, number, script};
use crate::folder::Folder;
use crate::program::Page;
use crate::{case, latest, news, values};

/// Documents of a file, and bytes of their text, at most: a page that shows one document loads its file.
const FILE_DOCUMENTS: usize = 50;
const FILE_BYTES: usize = 1 << 20;

/// Faults of documents that the page names; the number of all is there in any case.
const SKIPPED_MAX: usize = 100;

/// A case of the suites, measured or not.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name, without the device's word.
    pub test: String,
    /// The kind of device.
    pub device: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// Summary of a site that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Documents that were read.
    pub documents: usize,
    /// Series of them.
    pub series: usize,
    /// Files that are no documents.
    pub skipped: usize,
}

/// A site that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The system says no.
    #[error("{path}: the site cannot be written: {error}")]
    Write {
        /// The folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A document that its own rules refuse.
    #[error("{path}: {invalid}")]
    Invalid {
        /// The file or URL.
        path: PathBuf,
        /// The fault.
        invalid: Invalid,
    },
}

/// A site that is being made.
#[derive(Debug)]
pub struct Site {
    place: PathBuf,
    made: Time,
    folder: Folder,
    collection: Collection,
    /// Texts of the documents that are not written yet, and their places.
    texts: Vec<(String, String)>,
    bytes: usize,
    files: u32,
    documents: usize,
    failed: usize,
    skipped: Vec<String>,
    skipped_in_all: usize,
}

impl Site {
    /// Begins one, which takes the place of a site that is there. `made` is the time now, by which pages tell that a site has
    /// been replaced.
    ///
    /// # Errors
    /// The folder has something else, or cannot be written.
    pub fn new(place: &Path, made: Time) -> Result<Site, SiteError> {
        let folder = Folder::new(place).map_err(|error| SiteError::Write { path: place.to_owned(), error })?;
        Ok(Site {
            place: place.to_owned(),
            made,
            folder,
            collection: Collection::default(),
            texts: Vec::new(),
            bytes: 0,
            files: 0,
            documents: 0,
            failed: 0,
            skipped: Vec::new(),
            skipped_in_all: 0,
        })
    }

    /// Takes a document.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, stored: &Stored) -> Result<(), SiteError> {
        let invalid = |invalid| SiteError::Invalid { path: stored.path.clone(), invalid };
        let text = stored.document.text().map_err(invalid)?;
        self.collection.add(&stored.document, (self.files, self.texts.len() as u32));
        self.documents += 1;
        self.failed += usize::from(!stored.document.passed);
        self.bytes += text.len();
        self.texts.push((stored.path.display().to_string(), text));
        if self.texts.len() == FILE_DOCUMENTS || self.bytes >= FILE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Notes a file that is no document, with the reason.
    pub fn skip(&mut self, reason: String) {
        self.skipped_in_all += 1;
        if self.skipped.len() < SKIPPED_MAX {
            self.skipped.push(reason);
        }
    }

    /// Writes the rest and puts the folder in its place. `listed` are the cases of the suites.
    ///
    /// # Errors
    /// It cannot be written. What stood there before still does.
    pub fn finish(mut self, listed: &[Listed]) -> Result<Summary, SiteError> {
        self.flush()?;
        let mut collection = mem::take(&mut self.collection);
        collection.finish();
        self.put_data("index", &self.index(&collection))?;
        self.put_data("latest", &latest::file(&collection))?;
        let newest = collection.series.iter().flat_map(|series| series.rows.last()).map(|row| row.time).max();
        self.put_data("news", &news::file(&collection, newest.unwrap_or_else(|| microseconds(self.made))))?;
        self.put_data("ends", &values::ends(&collection))?;
        for figure in 0..collection.figures.all().len() as u32 {
            self.put_data(&format!("figure-{figure}"), &values::file(&collection, figure))?;
        }
        for series in &collection.series {
            self.put_data(&format!("case-{}", series.id()), &case::file(series))?;
        }
        let tests: Vec<&str> = listed.iter().map(|case| case.test.as_str()).collect();
        let devices: Vec<&str> = listed.iter().map(|case| case.device.as_str()).collect();
        let tags: Vec<String> = listed.iter().map(|case| case.tags.join(" ")).collect();
        self.put_data("listed", &json!({ "test": tests, "device": devices, "tags": tags }))?;
        let failed = |error| SiteError::Write { path: self.place.clone(), error };
        for file in Page::Results.files() {
            self.folder.put(file.name, file.text.as_bytes()).map_err(failed)?;
        }
        let summary =
            Summary { documents: self.documents, series: collection.series.len(), skipped: self.skipped_in_all };
        self.folder.finish().map_err(|error| SiteError::Write { path: self.place, error })?;
        Ok(summary)
    }

    fn flush(&mut self) -> Result<(), SiteError> {
        if self.texts.is_empty() {
            return Ok(());
        }
        let (paths, texts): (Vec<String>, Vec<String>) = mem::take(&mut self.texts).into_iter().unzip();
        self.bytes = 0;
        self.files += 1;
        self.put_data(&format!("documents-{}", self.files - 1), &json!({ "path": paths, "text": texts }))
    }

    fn put_data(&self, name: &str, value: &Value) -> Result<(), SiteError> {
        let put = script(name, value, &self.made.to_string())
            .and_then(|bytes| self.folder.put(&format!("data/{name}.js"), &bytes));
        put.map_err(|error| SiteError::Write { path: self.place.clone(), error })
    }

    /// The file that every view needs: the words, and a row for each series.
    fn index(&self, collection: &Collection) -> Value {
        let all = &collection.series;
        let (mut devices, mut machines) = (vec![], vec![]);
        for series in all {
            let number =
                |words: &[String], word: &Option<String>| words.iter().position(|own| Some(own) == word.as_ref());
            devices.push(number(collection.devices.all(), &series.name.device));
            machines.push(number(collection.machines.all(), &series.name.machine));
        }
        let figures = collection.figures.all().iter().map(|figure| {
            json!({
                "name": figure.name, "unit": figure.unit, "group": figure.group.name(), "cost": figure.is_cost,
                "scale": figure.scale(),
            })
        });
        let times = |row: fn(&crate::series::Series) -> Option<&crate::series::Row>| {
            differences(all.iter().map(|series| row(series).map_or(0, |row| row.time)))
        };
        json!({
            "made": self.made.to_string(),
            "documents": self.documents,
            "failed": self.failed,
            "skipped": self.skipped,
            "skipped_in_all": self.skipped_in_all,
            "revisions": collection.revisions.all(),
            "devices": collection.devices.all(),
            "machines": collection.machines.all(),
            "hosts": collection.hosts.all(),
            "tags": collection.tags.all(),
            "figures": figures.collect::<Vec<_>>(),
            "series": {
                "id": all.iter().map(|series| series.id()).collect::<Vec<_>>(),
                "test": all.iter().map(|series| series.name.test.as_str()).collect::<Vec<_>>(),
                "device": devices,
                "machine": machines,
                "kind": all.iter().map(|series| series.kind.as_str()).collect::<Vec<_>>(),
                "tags": all.iter().map(|series| series.tags.as_slice()).collect::<Vec<_>>(),
                "count": all.iter().map(|series| series.rows.len()).collect::<Vec<_>>(),
                "failed": all.iter().map(|series| series.rows.iter().filter(|row| row.message.is_some()).count()).collect::<Vec<_>>(),
                "first": times(|series| series.rows.first()),
                "last": times(|series| series.rows.last()),
                "clock": all.iter().map(|series| series.clock().map(number)).collect::<Vec<_>>(),
                "figures": all.iter().map(|series| series.figures()).collect::<Vec<_>>(),
            },
        })
    }
}

//! Documents of tests, and the site that is made of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_dashboard::{Listed, Site, Summary, synthetic};
use quiver_result::{Document, Stored, Time};
use tempfile::TempDir;

/// A site, and the documents behind it, in the order of time.
pub struct Made {
    pub folder: TempDir,
    pub documents: Vec<Stored>,
}

/// 2026-11-22T14:00:00Z.
pub fn now() -> Time {
    Time::unix(Duration::from_secs(1_795_356_000)).expect("a time")
}

/// Makes a site of these documents.
pub fn site(place: &Path, documents: impl IntoIterator<Item = Stored>) -> Summary {
    let mut site = Site::new(place, now()).expect("a folder");
    for stored in documents {
        site.add(&stored).expect("a document");
    }
    let listed =
        |test: &str| Listed { test: test.into(), device: "quiver".into(), tags: vec!["64B".into(), "SOAK".into()] };
    site.finish(&[listed("64b-1c-1n1l-memif-never-measured-soak")]).expect("a site")
}

/// A site of some synthetic documents of a few series, and one whose texts would be markup if they were taken for it.
pub fn small() -> Made {
    let mut documents: Vec<Stored> = synthetic::documents(700).collect();
    let mut hostile = documents[600].document.clone();
    hostile.dut_version = "<img src=x onerror=alert(1)>&amp;\"'".into();
    hostile.test_name_long = "64b-1c-<b>bold</b>-mrr".into();
    documents.push(Stored { path: PathBuf::from("<i>.json"), document: hostile });
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("site");
    let summary = site(&place, documents.iter().cloned());
    assert_eq!(summary, Summary { documents: 701, series: 8, skipped: 0 });
    Made { folder, documents }
}

impl Made {
    /// The page's address in the folder.
    pub fn url(&self) -> String {
        format!("file://{}", self.folder.path().join("site/index.html").display())
    }

    /// Documents of a case that passed.
    pub fn of<'made>(&'made self, test: &'made str) -> impl Iterator<Item = &'made Document> {
        let all = self.documents.iter().map(|stored| &stored.document);
        all.filter(move |document| quiver_compare::without_device(&document.test_name_long) == test)
    }
}

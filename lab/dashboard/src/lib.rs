//! The lab's dashboard: a folder of static pages made of result documents.
//!
//! [`Site`] takes documents one by one and writes the folder: the program of the page (`page/`, bundled here with the
//! plotting library), and data files that each view loads when it is opened. The statistics are those of
//! `quiver-verdict`; the pages show them.
#![forbid(unsafe_code)]

mod case;
mod collection;
mod columns;
mod figures;
mod folder;
mod histogram;
mod latest;
mod news;
mod program;
mod series;
mod site;
pub mod synthetic;
mod trend;
mod values;

pub use figures::{Figure, Group, figures};
pub use folder::{FILES_MARK, Folder};
pub use histogram::Delays;
pub use program::{LICENSE, Page};
pub use site::{Listed, Site, SiteError, Summary};
pub use trend::{Change, Trend};

//! The pages in Chromium: every view is opened and used, and its numbers are held against the documents that it was made of.

mod made;
mod slow_peers;
mod used;

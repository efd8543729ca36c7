//! `quiver lab send`: documents that an object store did not take, once it does.

use std::path::PathBuf;

use quiver_store::{Results, Sent, default_unsent};
use quiver_terminal::{print, say};

use crate::LabError;

/// Move stored results to an object store, or to another folder
///
/// What a store did not take was kept in a folder; from there it is sent, one document after the other. What is there already is
/// not stored twice, and what cannot be stored stays here.
#[derive(Debug, clap::Args)]
pub struct Send {
    /// s3://BUCKET/PREFIX, or a folder
    #[arg(value_name = "DIR|URL")]
    to: String,
    /// The folder with documents; by default, where those are kept that could not be stored
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

pub fn run(send: &Send) -> Result<(), LabError> {
    let from = send.from.clone().unwrap_or_else(default_unsent);
    let to = Results::open(&send.to, &from)?;
    // The folder by default is made when something is kept there.
    if send.from.is_none() && !from.exists() {
        say(format_args!("0 sent: nothing was kept in {}", from.display()));
        return Ok(());
    }
    let (mut stored, mut failed) = (0, 0);
    for sent in to.send(&from)? {
        match sent {
            Sent::Stored { to, .. } => {
                stored += 1;
                print(to);
            }
            Sent::Failed { from, trouble } => {
                failed += 1;
                say(format_args!("{}: not sent: {trouble}", from.display()));
            }
            Sent::Left { from, error } => {
                stored += 1;
                say(format_args!("{}: sent, but cannot be deleted: {error}", from.display()));
            }
            Sent::Skipped(skipped) => {
                failed += 1;
                say(format_args!("not sent: {skipped}"));
            }
        }
    }
    match failed {
        0 => {
            say(format_args!("{stored} sent"));
            Ok(())
        }
        failed => Err(LabError::Unsent { stored, failed, from }),
    }
}

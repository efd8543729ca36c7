//! Requests to be replayed.

use crate::api::Api;

/// The requests that a file says, one by one.
pub(super) trait Requests {
    /// The next one, with the numbers that messages have here; nothing for one that is not known here.
    fn next(&mut self, api: &Api) -> Option<Result<Option<Vec<u8>>, String>>;
}

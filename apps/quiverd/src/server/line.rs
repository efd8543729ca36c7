//! Encodes a response as a line of JSON.

use quiver_control::protocol::Response;

/// The line that tells a client a response.
pub(super) fn line_of(response: &Response) -> Vec<u8> {
    // Responses are strings, numbers and JSON values: they cannot fail to be written.
    let mut line = serde_json::to_vec(response).unwrap_or_default();
    line.push(b'\n');
    line
}

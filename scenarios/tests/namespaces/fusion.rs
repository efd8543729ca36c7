//! Whether packets take the fused path, so that trials "fused" and "unfused" are what they say.

use libtest_mimic::Failed;
use quiver_site::Site;
use serde_json::Value;

/// Every receive queue is served by a product, or none is.
pub fn is_used(site: &Site, expected: bool) -> Result<(), Failed> {
    let daemon = site.daemon().ok_or("a site of quiverd")?;
    let queues: Vec<Value> = serde_json::from_str(&daemon.command("show fusion --json")?)?;
    if queues.len() < 2 {
        return Err(format!("two interfaces have at least two queues: {queues:?}").into());
    }
    match queues.iter().find(|queue| queue["product"].is_string() != expected) {
        Some(queue) => Err(format!("a product was {}expected: {queue}", if expected { "" } else { "not " }).into()),
        None => Ok(()),
    }
}

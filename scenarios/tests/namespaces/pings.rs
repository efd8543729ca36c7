//! Echo requests of every size that fits.

use libtest_mimic::Failed;
use quiver_site::{Site, ping};

/// Data of echo requests: `ping`'s default, the largest in an MTU of 1500 and of 9000 bytes, and sizes around both the
/// buffers' and the cache lines' ends.
const SIZES: [u16; 10] = [56, 63, 64, 65, 1472, 1473, 2000, 4000, 8000, 8972];

/// Each size comes back, each time.
pub fn of_all_sizes(site: &Site) -> Result<(), Failed> {
    for size in SIZES {
        let result = ping(site, size, 10)?;
        if result.lost > 0 {
            return Err(format!("{} of 10 echo requests with {size} bytes got no reply", result.lost).into());
        }
    }
    Ok(())
}

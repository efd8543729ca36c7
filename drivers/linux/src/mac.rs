//! Addresses of interfaces that have none.

use quiver_wire::MacAddress;

use crate::LinuxError;

/// A locally administered address (IEEE 802, 8.2), as others of its kind begin.
pub fn random_mac() -> Result<MacAddress, LinuxError> {
    let mut mac = [0x02, 0xfe, 0, 0, 0, 0];
    let drawn = rustix::rand::getrandom(&mut mac[2..], rustix::rand::GetRandomFlags::empty());
    drawn.map_err(|error| LinuxError::refused("make up an address", error))?;
    Ok(MacAddress(mac))
}

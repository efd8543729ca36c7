//! VPP's messages about punted packets: `punt.api`, those of `ip.api` about redirects, and that of `policer.api`.

use quiver_control::Control;

mod police;
mod redirects;
mod traffic;

pub(crate) fn register(control: &Control) {
    police::register(control);
    redirects::register(control);
    traffic::register(control);
}

#[cfg(test)]
mod tests;

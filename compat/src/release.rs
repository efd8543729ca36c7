//! Other releases of VPP. Clients know messages by name and checksum; where a release has another checksum for a message than
//! VPP 26.10, a socket can serve that one in its place.
//!
//! The table says for each release which messages these are. All others have the checksums of 26.10, or are of one release
//! only. It has messages that no room answers, so nothing has to be converted: a request is refused without being read, and
//! details are never sent. A room that answers one of them has to read and write it as each release does.

use std::fmt;
use std::str::FromStr;

/// The table.
const TABLE: &str = include_str!("../awaiting/releases.txt");

/// A release of VPP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Release(&'static str);

/// The release is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile {0}: choose one of {known}", known = names())]
pub struct Unknown(String);

/// All of them, and the messages of each: names and checksums.
fn sections() -> impl Iterator<Item = (Release, impl Iterator<Item = (&'static str, u32)>)> {
    TABLE.split("release ").skip(1).map(|section| {
        let (name, rows) = section.split_once('\n').unwrap_or((section, ""));
        let row = |line: &'static str| {
            let (name, crc) = line.split_once(' ')?;
            Some((name, u32::from_str_radix(crc, 16).ok()?))
        };
        (Release(name), rows.lines().filter_map(row))
    })
}

fn names() -> String {
    let names: Vec<&str> = Release::all().map(|release| release.0).collect();
    names.join(", ")
}

impl Release {
    /// Those that are known.
    pub fn all() -> impl Iterator<Item = Release> {
        sections().map(|(release, _)| release)
    }
    /// The messages that it has with another checksum than 26.10, and this checksum.
    pub fn differences(self) -> impl Iterator<Item = (&'static str, u32)> {
        sections().filter(move |(release, _)| *release == self).flat_map(|(_, rows)| rows)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for Release {
    type Err = Unknown;

    fn from_str(name: &str) -> Result<Release, Unknown> {
        Release::all().find(|release| release.0 == name).ok_or_else(|| Unknown(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awaiting::rows;

    #[test]
    fn a_release_is_known_by_its_name() {
        let release: Release = "25.10".parse().expect("it is in the table");
        assert_eq!(release.to_string(), "25.10");
        let told = "25.11".parse::<Release>().expect_err("it is not").to_string();
        assert_eq!(told, "there is no profile 25.11: choose one of 23.06, 24.06, 25.02, 25.10");
    }

    #[test]
    fn every_row_is_a_message_of_26_10_with_another_checksum() {
        let lines = TABLE.lines().filter(|line| !line.starts_with("release ")).count();
        let all: Vec<_> = Release::all().flat_map(Release::differences).collect();
        assert_eq!(all.len(), lines, "all lines are read");
        for (name, crc) in all {
            let ours = rows().find(|row| row.name == name).unwrap_or_else(|| panic!("26.10 has no {name}"));
            assert_ne!(ours.crc, crc, "{name}");
        }
    }
}

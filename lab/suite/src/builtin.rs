//! The suites that are part of the program.

use crate::{Case, SuiteError, read};

/// Name and text of the files in `lab/suites`.
const FILES: [(&str, &str); 6] = [
    ("l2xc.yaml", include_str!("../../suites/l2xc.yaml")),
    ("l2bd.yaml", include_str!("../../suites/l2bd.yaml")),
    ("vlan.yaml", include_str!("../../suites/vlan.yaml")),
    ("ip4.yaml", include_str!("../../suites/ip4.yaml")),
    ("ip6.yaml", include_str!("../../suites/ip6.yaml")),
    ("power.yaml", include_str!("../../suites/power.yaml")),
];

/// Their cases.
pub fn builtin() -> Result<Vec<Case>, Vec<SuiteError>> {
    read(FILES)
}

/// Theirs, and those of more files, each a name and a text.
pub fn with_builtin<'text>(
    files: impl IntoIterator<Item = (&'text str, &'text str)>,
) -> Result<Vec<Case>, Vec<SuiteError>> {
    read(FILES.into_iter().chain(files))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_and_right() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../suites");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: BTreeSet<_> = names.collect();
        assert_eq!(names, FILES.iter().map(|(name, _)| (*name).to_owned()).collect());
        let cases = builtin().unwrap_or_else(|errors| panic!("{errors:#?}"));
        let lines: usize = FILES.iter().map(|(_, text)| text.lines().count()).sum();
        println!("{} cases from {lines} lines", cases.len());
        assert!(cases.len() > 500, "{}", cases.len());
    }
}

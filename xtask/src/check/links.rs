//! Links from one page of the repository to another lead somewhere.

use std::path::Path;

/// The links of a page to files that are not there; `page` is its path below `root`.
pub fn broken(root: &Path, page: &str, text: &str) -> Vec<String> {
    let folder = root.join(page).parent().unwrap_or(root).to_owned();
    let targets = targets(text).filter(|target| !target.contains("://") && !target.starts_with(['#', '<']));
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|file| !file.is_empty() && !folder.join(file).exists())
        .map(|file| format!("{page}: links to {file}, which is not there"))
        .collect()
}

/// Targets of `[text](target)` outside code blocks.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    prose.flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_missing_files_are_broken() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        std::fs::write(root.path().join("README.md"), "").unwrap();
        let text = "[a](../README.md) [b](https://example.org/x) [c](#here) [d](../README.md#part)\n\
            ```\n[e](code.md)\n```\n[f](gone.md)\n";
        assert_eq!(broken(root.path(), "docs/page.md", text), ["docs/page.md: links to gone.md, which is not there"]);
    }
}

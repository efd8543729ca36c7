//! English of doc comments: each begins with its subject or a verb.

use super::prose;

/// Doc comments that begin as a question and are none, each as a sentence with its line.
pub fn unclear(file: &str, source: &str) -> Vec<String> {
    let mut problems = vec![];
    let mut lines = source.lines().map(doc_comment).enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let Some((marker, text)) = line else { continue };
        // The comment's lines up to its end; the first sentence is in the first paragraph.
        let mut paragraph = text.to_owned();
        let mut has_ended = text.is_empty();
        while let Some((_, next)) = lines.next_if(|(_, next)| next.is_some_and(|(other, _)| other == marker)) {
            let text = next.map(|(_, text)| text).unwrap_or_default();
            has_ended |= text.is_empty();
            if !has_ended {
                paragraph.extend([" ", text]);
            }
        }
        let text = prose::without_code(&paragraph);
        if let Some(sentence) = prose::sentences(&text).next().filter(|sentence| prose::is_riddle(sentence)) {
            problems.push(format!("{file}:{}: begin with the subject or a verb: {sentence}", number + 1));
        }
    }
    problems
}

/// The marker and the text of a line of a doc comment.
fn doc_comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (marker, text) = line.split_at_checked(3)?;
    (matches!(marker, "///" | "//!") && !text.starts_with('/')).then(|| (marker, text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_begin_as_questions() {
        let source = "//! What a file does.\n\n/// What\n/// it keeps: `a`, b.\n/// And more.\nfn a() {\n    /// Whoever asks\n    b: u8,\n}\n";
        let found = unclear("a.rs", source);
        assert_eq!(
            found,
            [
                "a.rs:1: begin with the subject or a verb: What a file does.",
                "a.rs:3: begin with the subject or a verb: What it keeps: `x`, b.",
                "a.rs:7: begin with the subject or a verb: Whoever asks",
            ]
        );
    }

    #[test]
    fn statements_questions_and_code_pass() {
        for source in [
            "/// Keeps what is left.\n",
            "/// What does it cost?\n",
            "/// What does it\n/// cost? An access.\n",
            "// What follows is no documentation.\n",
            "//// What a banner.\n",
            "let text = \"/// What a text.\";\n",
            "/// Whatever the mode is, it is kept.\n",
            "/// First.\n///\n/// What a later paragraph says is not looked at.\n",
        ] {
            assert_eq!(unclear("a.rs", source), Vec::<String>::new(), "{source}");
        }
    }
}

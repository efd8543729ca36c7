//! English of the pages that users and contributors read: no riddles, no pronoun in place of a name, no description that says
//! less than the name it stands beside.

/// Generated pages, whose tables describe one item per row: messages, fields, commands.
const TABLES: [&str; 3] = ["docs/api.md", "docs/objects.md", "docs/commands.md"];
/// Shortest description of an item, in words.
const WORDS_MIN: usize = 4;
/// Words at the beginning of a question. A statement begins with its subject or a verb.
const ASKING: [&str; 2] = ["What", "Whoever"];
/// Phrases that hide the subject.
const VAGUE: [&str; 4] = ["this one", "for whom", "nobody", "somebody"];

/// Whether a page, by its path below the root, is held to these rules.
pub fn is_checked(page: &str) -> bool {
    page.ends_with("README.md") || page.starts_with("docs/") || matches!(page, "ARCHITECTURE.md" | "CONTRIBUTING.md")
}

/// The places of a page that break a rule, each as a sentence with its line.
pub fn unclear(page: &str, text: &str) -> Vec<String> {
    let mut problems = vec![];
    let mut is_code = false;
    let mut paragraph = Paragraph::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        // Headings are no sentences.
        if is_code || is_fence || line.is_empty() || line.starts_with('#') {
            paragraph.end(page, &mut problems);
        } else if line.starts_with('|') {
            paragraph.end(page, &mut problems);
            let line = without_code(line);
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            if TABLES.contains(&page) && line.starts_with("| `") && words(cells[1]) < WORDS_MIN {
                let number = number + 1;
                problems
                    .push(format!("{page}:{number}: `{}` says too little; describe the item in a sentence", cells[1]));
            }
            for cell in cells {
                paragraph.add(number, cell);
                paragraph.end(page, &mut problems);
            }
        } else {
            if line.starts_with("- ") {
                paragraph.end(page, &mut problems);
            }
            paragraph.add(number, line.trim_start_matches(['-', '>', ' ']));
        }
    }
    paragraph.end(page, &mut problems);
    problems
}

/// Prose that belongs together, and the line where it begins.
#[derive(Default)]
struct Paragraph {
    line: usize,
    text: String,
}

impl Paragraph {
    fn add(&mut self, number: usize, line: &str) {
        if self.text.is_empty() {
            self.line = number + 1;
        }
        self.text.push_str(line);
        self.text.push(' ');
    }

    /// Reports what is unclear, and begins anew.
    fn end(&mut self, page: &str, problems: &mut Vec<String>) {
        let text = without_code(&std::mem::take(&mut self.text));
        for sentence in sentences(&text).filter(|sentence| is_riddle(sentence)) {
            problems.push(format!("{page}:{}: begin with the subject or a verb: {sentence}", self.line));
        }
        let lower = text.to_lowercase();
        for vague in VAGUE.iter().filter(|vague| has_words(&lower, vague)) {
            problems.push(format!("{page}:{}: name the thing in place of \"{vague}\": {}", self.line, text.trim()));
        }
    }
}

/// The sentences of a text, without emphasis and quotes around them.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |letter: char| letter == '*' || letter == '"' || letter.is_whitespace();
    text.split_inclusive(['.', '?', '!']).map(move |sentence| sentence.trim_matches(is_around))
}

/// Whether a sentence begins as a question and is none.
pub fn is_riddle(sentence: &str) -> bool {
    let first = sentence.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    ASKING.contains(&first) && !sentence.ends_with('?')
}

/// The text with the insides of `code` replaced by one letter.
pub fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part.to_owned() } else { "`x`".to_owned() }).collect()
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Whether `phrase` stands in a text as words of its own.
fn has_words(text: &str, phrase: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + phrase.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_users_and_contributors_are_checked() {
        for page in [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "docs/api.md",
            "docs/decisions/0001-columns-in-the-frame.md",
            "features/acl/README.md",
        ] {
            assert!(is_checked(page), "{page}");
        }
        for page in ["CHANGELOG.md", "bench/notes.md", "xtask/docs/page.md"] {
            assert!(!is_checked(page), "{page}");
        }
    }

    #[test]
    fn short_descriptions_are_named() {
        let table =
            "| message | |\n|---|---|\n| `abf_policy_details` | This. |\n| `acl_del` | Deletes one `acl` list. |\n";
        let found = unclear("docs/api.md", table);
        assert_eq!(found, ["docs/api.md:3: `This.` says too little; describe the item in a sentence"]);
        assert!(unclear("README.md", table).is_empty(), "other tables have short cells");
    }

    #[test]
    fn statements_do_not_begin_as_questions() {
        let text = "# What works\n\nIt routes. What it drops\nit counts. What does it cost? Whoever\nasks, measures.\n";
        let found = unclear("README.md", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "README.md:3: begin with the subject or a verb: What it drops it counts.");
        assert!(found[1].contains("Whoever asks"), "{}", found[1]);
        assert_eq!(unclear("README.md", "- a\n- What a cost.\n| a | What b |\n").len(), 2);
    }

    #[test]
    fn vague_phrases_are_named_outside_of_code() {
        for text in ["Answers nobody.", "For\nwhom it is.", "Takes this one.", "Somebody's packets."] {
            assert_eq!(unclear("docs/page.md", text).len(), 1, "{text}");
        }
        for text in ["`nobody`", "```\nnobody\n```", "This ones."] {
            assert!(unclear("docs/page.md", text).is_empty(), "{text}");
        }
    }
}

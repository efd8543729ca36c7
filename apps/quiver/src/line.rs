//! A line as people type it: a command for the daemon, and the local treatment of its answer: `| include WORD`, `|
//! count`, `--json`, `--watch`.

use quiver_control::cli::{Token, script, split};
use quiver_control::protocol::Refusal;

use crate::filter::Filter;

/// A line of the shell: a command, options, and filters of its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The command. Removed parts are blank, so that places in it are places in the line.
    pub command: String,
    /// Whether the answer shall be JSON.
    pub json: bool,
    /// Whether to ask again and again.
    pub watch: bool,
    /// Filters of the answer, in order.
    pub filters: Vec<Filter>,
}

/// Parses a line. Several commands in one text, and lines with quotes that the daemon will refuse, are taken as they
/// are.
pub fn parse(text: &str) -> Result<Line, Refusal> {
    let plain = Line { command: text.to_owned(), ..Line::default() };
    let mut pieces = script(text);
    let (Some(piece), None) = (pieces.next(), pieces.next()) else { return Ok(plain) };
    let Ok(words) = split(&piece.text) else { return Ok(plain) };
    let mut line = Line { command: format!("{}{}", " ".repeat(piece.start), piece.text), ..Line::default() };
    let (mut depth, mut pipes) = (0_usize, vec![]);
    for (at, word) in words.iter().enumerate() {
        let raw = &piece.text[word.span.clone()];
        match raw {
            "--json" if depth == 0 => line.json = true,
            "--watch" if depth == 0 => line.watch = true,
            "|" if depth == 0 => pipes.push(at),
            _ => {
                if !raw.starts_with('"') {
                    depth = (depth + raw.matches('{').count()).saturating_sub(raw.matches('}').count());
                }
                continue;
            }
        }
        let span = piece.start + word.span.start..piece.start + word.span.end;
        line.command.replace_range(span.clone(), &" ".repeat(span.len()));
    }
    let Some(first) = pipes.first() else {
        if line.json || line.watch {
            line.command.truncate(line.command.trim_end().len());
            return Ok(line);
        }
        return Ok(plain);
    };
    let place = |word: &Token| piece.start + word.span.start..piece.start + word.span.end;
    line.command.truncate(place(&words[*first]).start);
    line.command.truncate(line.command.trim_end().len());
    for (at, pipe) in pipes.iter().enumerate() {
        let end = pipes.get(at + 1).copied().unwrap_or(words.len());
        let said: Vec<&Token> =
            words[pipe + 1..end].iter().filter(|word| !matches!(word.text.as_str(), "--json" | "--watch")).collect();
        let texts: Vec<&str> = said.iter().map(|word| word.text.as_str()).collect();
        let refused = |what: String, at: usize| Refusal {
            place: Some(
                said.get(at).map_or(piece.start + piece.text.len()..piece.start + piece.text.len(), |word| place(word)),
            ),
            expected: FILTERS.map(|(name, _)| name.to_owned()).into(),
            ..Refusal::new(what)
        };
        if matches!(line.filters.last(), Some(Filter::Count)) && !is_named("json", texts.first()) {
            return Err(refused("nothing but `json` can follow `count`".into(), 0));
        }
        match texts[..] {
            [] => return Err(refused("a filter is missing behind `|`".into(), 0)),
            [name] if is_named("count", Some(&name)) => line.filters.push(Filter::Count),
            [name] if is_named("json", Some(&name)) => line.json = true,
            [name, word] if is_named("include", Some(&name)) => line.filters.push(Filter::Include(word.to_owned())),
            [name, word] if is_named("exclude", Some(&name)) => line.filters.push(Filter::Exclude(word.to_owned())),
            [name] if is_named("include", Some(&name)) || is_named("exclude", Some(&name)) => {
                return Err(refused(format!("`{name}` needs a word"), 1));
            }
            [name, ..] if FILTERS.iter().any(|(filter, _)| is_named(filter, Some(&name))) => {
                let last = if is_named("count", Some(&name)) || is_named("json", Some(&name)) { 1 } else { 2 };
                return Err(refused(
                    format!("`{}` is too much; write a text with blanks in quotes", texts[last]),
                    last,
                ));
            }
            [name, ..] => return Err(refused(format!("`{name}` is no filter"), 0)),
        }
    }
    Ok(line)
}

/// The filters and their effects, for help and completion.
pub const FILTERS: [(&str, &str); 4] = [
    ("include", "the lines with a word; of JSON the rows with it"),
    ("exclude", "the lines without a word; of JSON the rows without it"),
    ("count", "the number of lines; of JSON that of rows"),
    ("json", "the answer as JSON"),
];

/// Whether a word is a filter's name, or its beginning: no two begin alike.
fn is_named(filter: &str, word: Option<&&str>) -> bool {
    word.is_some_and(|word| !word.is_empty() && filter.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Line {
        parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
    }

    #[test]
    fn commands_stay_as_they_are_without_filters() {
        for text in [
            "show interface",
            "set tag \"a | b\"",
            "new { data a | count }",
            "show \"open | count",
            "show a # | count",
            "show a\nshow b | count",
            "",
        ] {
            assert_eq!(read(text), Line { command: text.to_owned(), ..Line::default() });
        }
    }

    #[test]
    fn options_and_filters_are_taken_out_and_places_stay() {
        let line = read("show --json interface --watch");
        assert_eq!((line.command.as_str(), line.json, line.watch), ("show        interface", true, true));
        let line = read(" show interface | inc \"tap 0\" | ex down|x | c | json # why");
        assert_eq!(line.command, " show interface");
        let filters = [Filter::Include("tap 0".into()), Filter::Exclude("down|x".into()), Filter::Count];
        assert_eq!((line.filters.as_slice(), line.json), (&filters[..], true));
        assert!(read("show a | include b --json").json);
    }

    #[test]
    fn what_is_no_filter_is_pointed_at() {
        for (text, place, what) in [
            ("show a | grep b", 9..13, "`grep` is no filter"),
            ("show a |", 8..8, "a filter is missing"),
            ("show a | include", 16..16, "`include` needs a word"),
            ("show a | include b c", 19..20, "`c` is too much"),
            ("show a | count b", 15..16, "`b` is too much"),
            ("show a | count | include b", 17..24, "nothing but `json`"),
        ] {
            let refusal = parse(text).unwrap_err();
            assert!(refusal.place == Some(place) && refusal.what.starts_with(what), "{text}: {refusal:?}");
            assert_eq!(refusal.expected, ["include", "exclude", "count", "json"]);
        }
    }

    /// Every row of four of these: places lie in the text, at the ends of characters, and commands are no longer than it.
    #[test]
    fn no_line_is_misread() {
        const PARTS: [&str; 12] =
            ["|", "é", "--json", "\"a | b\"", "{", "}", "#", "\\\n", "inc", "\"", "count", "--watch"];
        for number in 0..PARTS.len().pow(4) {
            let parts: Vec<&str> = (0..4).map(|place| PARTS[number / PARTS.len().pow(place) % PARTS.len()]).collect();
            let text = format!(" {}", parts.join(" "));
            match parse(&text) {
                Ok(line) => assert!(line.command.len() <= text.len(), "{text}: {line:?}"),
                Err(refusal) => assert!(refusal.place.is_some_and(|place| text.get(place).is_some()), "{text}"),
            }
        }
    }
}

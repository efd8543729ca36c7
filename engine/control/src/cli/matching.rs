//! A line against the grammars of all commands at once.
//!
//! A [`Thread`] is one way in which the words so far match one command: the matched items, and the rest that must
//! follow, as a linked list of grammar parts. At each word every thread unfolds into its possible next words and
//! arguments; those that match the word go on. So the cost is the number of words times that of the ways, never a
//! power.
//!
//! Of several readings of a word the first of these counts: the full word of the grammar; the name of something that
//! exists; the abbreviation of one word of the grammar; any other argument. At the end of a line it is also the
//! abbreviation of several words if one of them alone ends a command there.

use std::rc::Rc;

use super::command::{CommandError, Item, Matches};
use super::grammar::Part;
use super::kind::ArgumentKind;
use super::words::Token;

/// More words than this are not a command.
pub(super) const WORDS_MAX: usize = 256;
/// More ways to read a line than this are a mistake in a grammar.
const WAYS_MAX: usize = 4096;

/// Rest of a grammar that must follow: a linked list, shared between threads.
type Rest = Option<Rc<Frame>>;

#[derive(Debug)]
struct Frame {
    pending: Pending,
    rest: Rest,
}

#[derive(Debug)]
enum Pending {
    Part(Rc<Part>),
    /// Alternatives of an any-order group; the bits are those that were used.
    AnyOrder(Rc<Part>, u64),
    /// A part that may stand again.
    Again(Rc<Part>),
}

/// Matched items: a linked list, the last item first.
type Fitted = Option<Rc<FittedItem>>;

#[derive(Debug)]
struct FittedItem {
    item: Item,
    before: Fitted,
}

/// One way in which the words so far fit a command.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// Index of the command.
    pub command: usize,
    rest: Rest,
    fitted: Fitted,
}

impl Thread {
    pub fn new(command: usize, grammar: &Rc<Part>) -> Thread {
        let rest = Some(Rc::new(Frame { pending: Pending::Part(grammar.clone()), rest: None }));
        Thread { command, rest, fitted: None }
    }

    /// The command's matches, if the line ends here.
    pub fn matches(&self, end: usize) -> Matches {
        let mut items = Vec::new();
        let mut fitted = &self.fitted;
        while let Some(last) = fitted {
            items.push(last.item.clone());
            fitted = &last.before;
        }
        items.reverse();
        Matches { items, end }
    }

    /// The last matched item that is a word of the grammar.
    pub fn last_word(&self) -> Option<&str> {
        let mut fitted = &self.fitted;
        while let Some(last) = fitted {
            if !last.item.argument {
                return Some(&last.item.name);
            }
            fitted = &last.before;
        }
        None
    }
}

/// Possible next word or argument of one thread, and the thread behind it.
#[derive(Clone)]
pub(super) struct Next {
    pub leaf: Rc<Part>,
    pub thread: Thread,
}

/// Possible next words and arguments, and the threads that are complete.
#[derive(Default)]
pub(super) struct Unfolded {
    pub next: Vec<Next>,
    pub complete: Vec<Thread>,
}

/// Unfolds threads up to the next word.
pub(super) fn unfold(threads: impl IntoIterator<Item = Thread>) -> Unfolded {
    let mut unfolded = Unfolded::default();
    // Ways that were cut off cannot change which command is meant: registered grammars stay far below the limit.
    let mut open: Vec<Thread> = threads.into_iter().collect();
    open.reverse();
    while let Some(thread) = open.pop() {
        if unfolded.next.len() + open.len() > WAYS_MAX {
            break;
        }
        let Some(frame) = thread.rest.clone() else {
            unfolded.complete.push(thread);
            continue;
        };
        let with =
            |pending: Pending, rest: Rest| Thread { rest: Some(Rc::new(Frame { pending, rest })), ..thread.clone() };
        let without = Thread { rest: frame.rest.clone(), ..thread.clone() };
        // The preferred way is pushed last, to be unfolded first.
        match &frame.pending {
            Pending::Again(part) => {
                open.push(without);
                let again = with(Pending::Again(part.clone()), frame.rest.clone());
                open.push(with(Pending::Part(part.clone()), again.rest));
            }
            Pending::AnyOrder(group, used) => {
                open.push(without);
                let Part::AnyOrder(parts) = &**group else { continue };
                for (index, part) in parts.iter().enumerate().rev() {
                    let bit = 1u64 << index;
                    if used & bit == 0 {
                        let others = with(Pending::AnyOrder(group.clone(), used | bit), frame.rest.clone());
                        open.push(with(Pending::Part(part.clone()), others.rest));
                    }
                }
            }
            Pending::Part(part) => match &**part {
                Part::Token(_) | Part::Argument { .. } => {
                    unfolded.next.push(Next { leaf: part.clone(), thread: without });
                }
                Part::Sequence(parts) => {
                    let rest = parts.iter().rev().fold(frame.rest.clone(), |rest, part| {
                        Some(Rc::new(Frame { pending: Pending::Part(part.clone()), rest }))
                    });
                    open.push(Thread { rest, ..thread.clone() });
                }
                Part::Optional(part) => {
                    open.push(without);
                    open.push(with(Pending::Part(part.clone()), frame.rest.clone()));
                }
                Part::OneOf(parts) => {
                    open.extend(parts.iter().rev().map(|part| with(Pending::Part(part.clone()), frame.rest.clone())));
                }
                Part::AnyOrder(_) => open.push(with(Pending::AnyOrder(part.clone(), 0), frame.rest.clone())),
                Part::Many(part) => {
                    let again = with(Pending::Again(part.clone()), frame.rest.clone());
                    open.push(with(Pending::Part(part.clone()), again.rest));
                }
            },
        }
    }
    unfolded
}

/// Live names and types that a matcher asks for.
pub(super) trait Arguments {
    /// The type of this name.
    fn kind(&self, name: &str) -> Option<ArgumentKind>;
    /// Whether the word names something that exists.
    fn is_known(&self, kind: &str, word: &str) -> bool;
    /// Checks a word.
    fn check(&self, kind: &str, word: &str) -> Result<(), String>;
}

/// The threads that `word` matches.
pub(super) fn step(next: &[Next], word: &Token, arguments: &dyn Arguments) -> Result<Vec<Thread>, CommandError> {
    let words = |fits: &dyn Fn(&str) -> bool| -> Vec<&Next> {
        next.iter().filter(|next| matches!(&*next.leaf, Part::Token(text) if fits(text))).collect()
    };
    let exact = words(&|text| text == word.text);
    if !exact.is_empty() {
        return Ok(advance(exact, word));
    }
    let kinds = |fits: &mut dyn FnMut(&str) -> bool| -> Vec<&Next> {
        // Each type is asked once, however many threads stand at it.
        let mut asked: Vec<(&str, bool)> = Vec::new();
        let mut found = Vec::new();
        for next in next {
            if let Part::Argument { kind, .. } = &*next.leaf {
                let answer = asked.iter().find(|(name, _)| name == kind).map(|(_, answer)| *answer);
                let answer = answer.unwrap_or_else(|| {
                    let answer = fits(kind);
                    asked.push((kind, answer));
                    answer
                });
                if answer {
                    found.push(next);
                }
            }
        }
        found
    };
    let known = kinds(&mut |kind| arguments.is_known(kind, &word.text));
    if !known.is_empty() {
        return Ok(advance(known, word));
    }
    let abbreviated = words(&|text| !word.text.is_empty() && text.starts_with(&word.text));
    let mut meant: Vec<&str> = abbreviated.iter().filter_map(|next| word_of(&next.leaf)).collect();
    meant.sort_unstable();
    meant.dedup();
    if meant.len() == 1 {
        return Ok(advance(abbreviated, word));
    }
    let mut reasons: Vec<String> = Vec::new();
    let fitting = kinds(&mut |kind| match arguments.check(kind, &word.text) {
        Ok(()) => true,
        Err(reason) => {
            reasons.push(reason);
            false
        }
    });
    if !fitting.is_empty() {
        return Ok(advance(fitting, word));
    }
    let what = match (meant.as_slice(), reasons.as_slice()) {
        ([_, ..], _) => format!("'{}' is ambiguous: {}", word.text, meant.join(", ")),
        ([], [reason]) => reason.clone(),
        ([], _) if next.is_empty() => format!("'{}' is not expected: the command is complete before it", word.text),
        ([], _) => match super::nearest(&word.text, next.iter().filter_map(|next| word_of(&next.leaf))) {
            Some(near) => format!("'{}' cannot stand here; did you mean '{near}'?", word.text),
            None => format!("'{}' cannot stand here", word.text),
        },
    };
    // The expected words of an ambiguous word are its possible meanings.
    let expected = match meant.as_slice() {
        [] => expected(next, arguments),
        meant => meant.iter().map(ToString::to_string).collect(),
    };
    Err(CommandError { what, place: Some(word.span.clone()), expected })
}

/// Resolves an ambiguous last word of a line if only one of its meanings ends a command: of `clear interface` and
/// `clear interfaces`, the former needs more words.
pub(super) fn ending(next: &[Next], word: &Token) -> Option<Unfolded> {
    let mut found: Option<(&str, Unfolded)> = None;
    for one in next {
        let Some(text) = word_of(&one.leaf).filter(|text| !word.text.is_empty() && text.starts_with(&word.text)) else {
            continue;
        };
        let unfolded = unfold(advance(vec![one], word));
        match &found {
            _ if unfolded.complete.is_empty() => {}
            Some((other, _)) if *other != text => return None,
            Some(_) => {}
            None => found = Some((text, unfolded)),
        }
    }
    found.map(|(_, unfolded)| unfolded)
}

/// Possible next words, for people: words, then arguments as `<name>`.
pub(super) fn expected(next: &[Next], arguments: &dyn Arguments) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for next in next {
        match &*next.leaf {
            Part::Argument { name, kind } => others.push(match arguments.kind(kind) {
                Some(kind) => format!("<{name}> ({})", kind.expected),
                None => format!("<{name}>"),
            }),
            leaf => words.extend(word_of(leaf).map(str::to_owned)),
        }
    }
    for list in [&mut words, &mut others] {
        list.sort();
        list.dedup();
    }
    words.append(&mut others);
    words
}

pub(super) fn word_of(leaf: &Part) -> Option<&str> {
    match leaf {
        Part::Token(text) => Some(text),
        _ => None,
    }
}

fn advance(next: Vec<&Next>, word: &Token) -> Vec<Thread> {
    let advance = |next: &Next| {
        let (name, argument) = match &*next.leaf {
            Part::Argument { name, .. } => (name.clone(), true),
            leaf => (word_of(leaf).unwrap_or_default().to_owned(), false),
        };
        let item = Item { name, text: word.text.clone(), argument, span: word.span.clone() };
        let fitted = Some(Rc::new(FittedItem { item, before: next.thread.fitted.clone() }));
        Thread { fitted, ..next.thread.clone() }
    };
    next.into_iter().map(advance).collect()
}

//! Runs the commands of a text, and of files: `exec`.

use std::cell::RefCell;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};

use super::command::Nesting;
use super::script::script;
use super::{Command, CommandError, Commands, Matches, Output, Reply};
use crate::control::Control;
use crate::files::{FileError, Reach};
use crate::time::LocalFuture;

impl Commands {
    /// Runs the commands of a text one after the other, and returns their answers as text, each ending in a newline;
    /// the first that fails ends it, with its error behind the answers so far.
    pub async fn run_script(&self, control: &Control, text: &str) -> (String, Result<(), CommandError>) {
        self.run_script_within(control, text, usize::MAX).await
    }

    /// The same, where answers of more bytes than this are refused as a whole, and not made to their end.
    pub async fn run_script_within(
        &self,
        control: &Control,
        text: &str,
        bytes_max: usize,
    ) -> (String, Result<(), CommandError>) {
        let (answers, output) = (RefCell::new(String::new()), Output::text());
        let add = |part: &Reply| {
            append(&mut answers.borrow_mut(), &part.text);
            answers.borrow().len() <= bytes_max
        };
        let fit = async {
            while let Some(part) = output.next().await {
                if !add(&part) {
                    return false;
                }
            }
            true
        };
        let (fit, run) = (pin!(fit), pin!(self.run(control, text, &output)));
        let result = match select(fit, run).await {
            Either::Left((true, run)) => Some(run.await),
            Either::Left((false, _)) => None,
            Either::Right((result, fit)) => fit.await.then_some(result),
        };
        let end = match result {
            Some(Err(error)) => Err(error),
            Some(Ok(reply)) if add(&reply) => Ok(()),
            _ => {
                answers.borrow_mut().clear();
                Err(too_long(text, bytes_max))
            }
        };
        let mut answers = answers.take();
        if let Err(error) = &end {
            append(&mut answers, &error.to_string());
        }
        (answers, end)
    }
}

fn too_long(text: &str, bytes_max: usize) -> CommandError {
    let first = script(text).next().map(|piece| piece.text.chars().take(80).collect::<String>()).unwrap_or_default();
    CommandError::new(format!(
        "`{first}` answers more than {bytes_max} bytes, the most that goes into one message: ask for less, or run `quiver \
         {first}` or `vppctl {first}`, which show it page by page"
    ))
}

fn append(answers: &mut String, answer: &str) {
    answers.push_str(answer);
    if !answer.is_empty() && !answer.ends_with('\n') {
        answers.push('\n');
    }
}

/// Source of the files that `exec` reads.
pub trait Scripts {
    /// Reads a file of at most [`SCRIPT_MAX`](crate::files::SCRIPT_MAX) bytes for an author with this reach.
    fn read(&self, reach: Reach, path: &Path) -> LocalFuture<Result<String, FileError>>;
}

struct Files(Rc<dyn Scripts>);

/// Lets `exec` read files; without it, there are none.
pub fn exec_from(control: &Control, files: Rc<dyn Scripts>) {
    control.insert_room(Files(files));
}

pub(super) fn register(control: &Control) {
    control.commands().add(
        Command::waiting("exec <file:text>", "Run commands from a file on quiverd's machine.", exec)
            .argument("file", "commands, one per line; `#` begins a comment"),
    );
}

async fn exec(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let file: String = matches.get("file")?;
    let Some(_nesting) = output.nest() else {
        let what = format!("{file}: scripts are nested more than {} deep: does it run itself?", Nesting::MAX);
        return Err(CommandError::new(what).at(matches.place("file")));
    };
    if !control.has_room::<Files>() {
        return Err(CommandError::new("this control side reads no files: give the commands themselves"));
    }
    let files = control.room::<Files>().0.clone();
    let refused = |error: FileError| CommandError::new(error.to_string()).at(matches.place("file"));
    let path = Path::new(&file);
    let read = control.read_in_time(path, files.read(control.files(), path)).await;
    let text = read.and_then(|read| read).map_err(refused)?;
    for piece in script(&text) {
        let reply = control.commands().dispatch(&control, &piece.text, &output).await;
        let refused = |error| CommandError::new(format!("{file}:{}: `{}`: {error}", piece.line, piece.text));
        let reply = reply.map_err(refused)?;
        output.send_unless_empty(reply).await;
    }
    Ok(Reply::done())
}

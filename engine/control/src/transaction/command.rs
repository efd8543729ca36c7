//! The commands of transactions. `quiver apply`, `diff`, `plan` and `save` bring files and are requests of their own
//! ([`protocol`](crate::protocol)).

use serde_json::json;

use super::{Terms, Text, TransactionError};
use crate::cli::{Cell, Command, CommandError, Matches, Output, Reply, Table};
use crate::config::{Desired, Scope, list_differences, list_file};
use crate::control::Control;
use crate::pace::Pace;

const CONFIRM: (&str, &str) = ("seconds", "how long it may be confirmed before it is taken back");
const COMMENT: (&str, &str) = ("text", "what to say about it in the history");
const SECRETS: (&str, &str) = ("secrets", "also secrets, which are hidden otherwise");
const BACK: (&str, &str) = ("back", "how many versions back, as `show history` lists them; 0 is the newest");

pub(crate) fn register(control: &Control) {
    let add = |command: Command| {
        let texts = [CONFIRM, COMMENT, BACK, SECRETS];
        control.commands().add(texts.iter().fold(command, |command, (name, text)| command.argument(name, text)));
    };
    add(Command::waiting(
        "apply candidate {confirm <seconds:u32> | comment <text> | allow-empty}",
        "Apply the candidate: the configuration that was planned last.",
        async |control: Control, matches: Matches, _: Output| Ok(control.apply_candidate(terms(&matches)?).await?),
    ));
    add(Command::waiting(
        "rollback <back:u32> {confirm <seconds:u32> | comment <text>}",
        "Apply an earlier configuration from the history.",
        async |control: Control, matches: Matches, _: Output| {
            let back = matches.get::<u32>("back")?;
            Ok(control.rollback(back as usize, terms(&matches)?).await?)
        },
    ));
    add(Command::waiting(
        "confirm",
        "Confirm the applied configuration, so that it is not rolled back.",
        async |control: Control, _: Matches, _: Output| Ok(control.confirm().await?),
    ));
    add(Command::new("show history", "Show the configuration history, newest first.", show_history));
    add(Command::new(
        "show transaction",
        "Show the transaction in progress, and changes that await confirmation or are unsaved.",
        show_transaction,
    ));
    add(Command::waiting(
        "show configuration [pending | saved | candidate | version <back:u32>] [secrets]",
        "Show the running configuration as a file, another version, or its pending parts; secrets only on request.",
        show_configuration,
    ));
    add(Command::new(
        "clear configuration pending",
        "Forget the parts of the configuration that wait for something outside.",
        |control, _| {
            let pending = &control.objects().pending;
            if !pending.is_empty() {
                control.check_free()?;
                pending.replace(vec![]);
                control.transactions().note_unsaved(control.author());
            }
            Ok(Reply::done())
        },
    ));
    add(Command::waiting(
        "show differences [candidate | version <back:u32>]",
        "Show unsaved changes, the changes of the candidate, or those since a version.",
        show_differences,
    ));
}

fn terms(matches: &Matches) -> Result<Terms, CommandError> {
    let (comment, confirm_within) = (matches.find("text")?, matches.find("seconds")?);
    Ok(Terms { comment, confirm_within, allow_empty: matches.has("allow-empty"), ..Terms::default() })
}

fn show_history(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let history = &control.transactions().history;
    let saved = history.saved().map(|version| version.number);
    let mut table = Table::new(["Back", "Version", "Time", "Author", "What", "State", "Comment"]);
    for (back, version) in history.versions().into_iter().enumerate() {
        let state = match (version.confirmed, control.confirm_within()) {
            (false, Some(left)) if back == 0 => format!("confirm within {} s", left.as_secs()),
            (false, _) => "never confirmed".to_owned(),
            (true, _) if saved == Some(version.number) => "saved".to_owned(),
            (true, _) => String::new(),
        };
        table.row([
            Cell::from(back as u64),
            Cell::from(version.number),
            Cell::from(version.time_text()),
            Cell::from(version.author),
            Cell::from(version.what),
            Cell::from(state),
            version.comment.map_or_else(Cell::empty, Cell::from),
        ]);
    }
    Ok(table.into())
}

fn show_transaction(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let transactions = control.transactions();
    let held = transactions.held.borrow();
    let held = held.as_ref().map(|held| (held.by().to_string(), held.what()));
    let unconfirmed = transactions.unconfirmed.borrow();
    let unconfirmed = unconfirmed.as_ref().map(|u| (u.by.to_string(), &u.what, u.until.since(control.now()).as_secs()));
    let candidate = transactions.candidate.borrow();
    let candidate = candidate.as_ref().map(|candidate| (candidate.author.to_string(), &candidate.file));
    let unsaved = transactions.unsaved_by();
    let lines = [
        held.as_ref().map(|(by, what)| format!("{by} is changing the configuration: {what}")),
        unconfirmed.as_ref().map(|(by, what, left)| format!("waits {left} s to be confirmed: {what}, by {by}")),
        candidate.as_ref().map(|(by, file)| format!("candidate: {file}, planned by {by}")),
        Some(&unsaved).filter(|by| !by.is_empty()).map(|by| format!("not saved: changes by commands of {by}")),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    let json = json!({
        "held": held.map(|(by, what)| json!({"by": by, "what": what})),
        "unconfirmed": unconfirmed.map(|(by, what, left)| json!({"by": by, "what": what, "seconds": left})),
        "candidate": candidate.map(|(by, file)| json!({"by": by, "file": file})),
        "unsaved-by": transactions.unsaved.borrow().iter().map(|by| json!(by.to_string())).collect::<Vec<_>>(),
    });
    let text = if lines.is_empty() { "what runs is what is saved".to_owned() } else { lines.join("\n") };
    Ok(Reply::new(text, json))
}

async fn show_configuration(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    if matches.has("pending") {
        return Ok(super::waiting::show(&control, &output).await);
    }
    let has_secrets = matches.has("secrets");
    if has_secrets && control.author().is_viewer() {
        return Err(
            CommandError::new("viewers are shown no secrets; use the command socket").at(matches.place("secrets"))
        );
    }
    let text = match other(&control, &matches).await? {
        None if !matches.has("saved") => return Ok(control.list_written(&output, has_secrets).await),
        None => saved(&control).await?,
        Some((_, text)) => text,
    };
    Ok(list_file(&control, &output, &text, has_secrets).await)
}

async fn show_differences(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut pace = Pace::in_turns(&control);
    let (forward, name, text) = match other(&control, &matches).await? {
        None => (false, "the saved configuration".to_owned(), saved(&control).await?),
        Some((name, text)) => (matches.has("candidate"), name, text),
    };
    let scope = match &*control.transactions().candidate.borrow() {
        Some(candidate) if forward => candidate.scope,
        _ => Scope::Whole,
    };
    let _hold = control.hold("show differences")?;
    let desired = Desired::read_ready(&control, &name, &text, &mut pace).await.map_err(TransactionError::from)?;
    let steps = desired.steps(&control, scope, &mut pace).await.into_iter();
    desired.free(&mut pace).await;
    Ok(match forward {
        true => list_differences(&control, &output, steps).await,
        // From there to the running configuration.
        false => list_differences(&control, &output, steps.rev().map(|step| step.undo())).await,
    })
}

/// The configuration, with its name, that a command speaks of instead of the running or saved one.
async fn other(control: &Control, matches: &Matches) -> Result<Option<(String, Text)>, CommandError> {
    if let Some(back) = matches.find::<u32>("back")? {
        let version = control.version(back as usize)?;
        let text = control.transactions().history.text(version.number).await;
        return Ok(Some((format!("version {}", version.number), text.map_err(TransactionError::from)?)));
    }
    if matches.has("candidate") {
        let candidate = control.transactions().candidate.borrow().clone().ok_or(TransactionError::NoCandidate)?;
        return Ok(Some((candidate.file, candidate.text)));
    }
    Ok(None)
}

/// The saved configuration; that of nothing if none was ever saved.
async fn saved(control: &Control) -> Result<Text, CommandError> {
    match control.transactions().history.saved() {
        Some(version) => {
            Ok(control.transactions().history.text(version.number).await.map_err(TransactionError::from)?)
        }
        None => Ok(Text::default()),
    }
}

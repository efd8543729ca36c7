//! `sfdp events`, `show sfdp events`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use serde_json::json;

use crate::exporters::{EventRoom, SessionEvents};
use crate::sessions::TICKS;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let line = "sfdp events enable {slots <slots:u32> | update-seconds <update-seconds:u32>}";
    let help = "Write events of sessions into a ring, from which `quiver export` sends them.";
    let enable = Command::new(line, help, enable);
    let enable = enable.argument("slots", "events that each worker keeps, such as 65536");
    commands.add(enable.argument("update-seconds", "seconds between updates of a session (default: no updates)"));
    commands.add(Command::new("sfdp events disable", "Write no events of sessions.", disable));
    commands.add(Command::new("show sfdp events", "Show events of sessions and their exporters.", show));
}

fn enable(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let standard = SessionEvents::new(SessionEvents::NAME.to_owned());
    let slots = given.find("slots")?.unwrap_or(standard.slots);
    control.put(SessionEvents { slots, update_seconds: given.find("update-seconds")?, ..standard })?;
    Ok(Reply::done())
}

fn disable(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    if control.objects().get::<SessionEvents>(&SessionEvents::NAME.to_owned()).is_some() {
        control.delete::<SessionEvents>(&SessionEvents::NAME.to_owned())?;
    }
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let room = control.room::<EventRoom>();
    let (written, left_out) = room.written();
    let slots = room.ring().map(|ring| ring.size.slots);
    let update = room.ring().and_then(|ring| ring.update).map(|ticks| ticks / TICKS);
    let mut table = Table::new(["Exporter", "Process", "Exported", "Lost", "Failed", "Waiting"]);
    let mut exporters = vec![];
    for (name, exporter) in room.exporters() {
        let (counts, waiting) = (exporter.counts(), room.waiting(exporter));
        let process = exporter.process.map_or_else(|| "-".to_owned(), |process| process.to_string());
        table.row([
            Cell::from(name.as_str()),
            Cell::from(process),
            Cell::from(counts.exported),
            Cell::from(counts.lost),
            Cell::from(counts.failed),
            Cell::from(waiting),
        ]);
        exporters.push(json!({
            "name": name, "process": exporter.process, "exported": counts.exported, "lost": counts.lost,
            "failed": counts.failed, "waiting": waiting,
        }));
    }
    let state = match slots {
        Some(slots) => format!("events: on, {slots} slots for each worker"),
        None => "events: off".to_owned(),
    };
    let updates = update.map_or_else(|| "none".to_owned(), |seconds| format!("every {seconds} s"));
    let counts = format!("updates: {updates}\nwritten: {written}\ndenials left out: {left_out}");
    let text = format!("{state}\n{counts}\n{}", table.to_text());
    let json = json!({
        "enabled": slots.is_some(), "slots": slots, "update-seconds": update, "written": written,
        "denials-left-out": left_out, "exporters": exporters,
    });
    Ok(Reply::new(text, json))
}

//! Objects whose content is read outside before they are applied.

use std::cell::RefCell;
use std::future::{pending, ready};
use std::rc::Rc;
use std::time::Duration;

use quiver_control::object::StandIn;
use quiver_control::transaction::Terms;
use quiver_control::{Change, Control, Kind, LocalFuture, Object, ObjectError};
use quiver_testkit::executor::Executor;

/// A tune, with its notes in a file.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "tunes")]
pub struct Tune {
    /// Its name.
    #[key]
    pub name: String,
    /// The file.
    pub file: Option<String>,
    /// Whether it is played.
    #[default(false)]
    pub played: bool,
    /// The hall that it is played in.
    #[fixed]
    #[default(1)]
    pub hall: u32,
}

/// Contents read and objects applied so far, on all control sides.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn add(&self, what: String) {
        self.0.borrow_mut().push(what);
    }
    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// Each time that a file is read, its content is another one.
fn register(control: &Control, log: &Log, side: &'static str) {
    let (applied, reads, count) = (log.clone(), log.clone(), Rc::new(RefCell::new(0)));
    let apply = move |control: &Control, change: Change<'_, Tune>| {
        let (old, new) = change.sides();
        let sign = match (old, new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        let Some(tune) = new.or(old) else { return Ok(()) };
        let content = control.content::<Tune, String>(tune);
        applied.add(format!("{side}{sign}{} {}", tune.name, content.as_deref().cloned().unwrap_or_default()));
        match new {
            Some(new) if new.name == "bad" => Err(ObjectError::whole("it is bad")),
            Some(new) if new.file.is_some() && content.is_none() => Err(ObjectError::field("file", "it was not read")),
            _ => Ok(()),
        }
    };
    let read = move |control: &Control, tune: &Tune| -> LocalFuture<Result<String, ObjectError>> {
        let file = tune.file.clone().unwrap_or_default();
        reads.add(format!("read {file}"));
        *count.borrow_mut() += 1;
        let content = format!("{file}{}", count.borrow());
        match file.as_str() {
            "never" => Box::pin(pending()),
            "later" => {
                let later = control.sleep(Duration::from_secs(1));
                Box::pin(async move {
                    later.await;
                    Ok(content)
                })
            }
            "missing" => Box::pin(ready(Err(ObjectError::field("file", "there is none")))),
            _ => Box::pin(ready(Ok(content))),
        }
    };
    control.objects().add(Kind::new(apply).content("file", |tune: &Tune| tune.file.as_deref(), read));
}

fn control() -> (Executor, Control, Log) {
    let (executor, log) = (Executor::new(7), Log::default());
    let control = executor.control();
    register(&control, &log, "");
    (executor, control, log)
}

/// The same, with changes that are rehearsed.
fn rehearsing() -> (Executor, Control, Log) {
    let (executor, control, log) = control();
    let of_aside = log.clone();
    control.objects().rehearse_on(move |control| {
        let aside = control.aside();
        register(&aside, &of_aside, "aside ");
        Box::pin(ready(Ok(StandIn { control: aside, tidy: |_| () })))
    });
    (executor, control, log)
}

fn apply(executor: &Executor, control: &Control, text: &str) -> Result<(), String> {
    let terms = Terms { allow_empty: true, ..Terms::default() };
    executor.block_on(control.apply("f.yaml", text, terms)).map(drop).map_err(|error| error.to_string())
}

const A: &str = "tunes:\n- {name: t, file: a}\n";

#[test]
fn content_is_read_once_for_an_object_and_again_when_it_names_another() {
    let (executor, control, log) = control();
    apply(&executor, &control, A).unwrap();
    apply(&executor, &control, "tunes:\n- {name: t, file: a, played: true}\n").unwrap();
    // A command that changes another field, and an object that is made anew.
    control.edit(Tune::new("t".into()), |tune| tune.played = false).unwrap();
    apply(&executor, &control, "tunes:\n- {name: t, file: a, hall: 2}\n").unwrap();
    assert_eq!(log.take(), ["read a", "+t a1", "~t a1", "~t a1", "-t a1", "+t a1"]);
    apply(&executor, &control, "tunes:\n- {name: t, file: b}\n").unwrap();
    assert_eq!(log.take(), ["read b", "-t a1", "+t b2"]);
    control.delete::<Tune>(&"t".into()).unwrap();
    apply(&executor, &control, "tunes:\n- {name: t, file: b}\n- {name: u, file: b}\n- {name: v}\n").unwrap();
    assert_eq!(log.take(), ["-t b2", "read b", "read b", "+t b3", "+u b4", "+v "]);
    apply(&executor, &control, "").unwrap();
    apply(&executor, &control, A).unwrap();
    assert_eq!(log.take(), ["-t b3", "-u b4", "-v ", "read a", "+t a5"]);
}

#[test]
fn a_change_that_is_taken_back_needs_no_file() {
    let (executor, control, log) = control();
    apply(&executor, &control, "tunes:\n- {name: t, file: a}\n- {name: u, file: a}\n").unwrap();
    log.take();
    let told = apply(&executor, &control, "tunes:\n- {name: bad}\n- {name: t, file: b}\n").unwrap_err();
    assert!(told.contains("it is bad"), "{told}");
    let done = log.take();
    assert!(done.contains(&"-u a2".to_owned()) && done.contains(&"+u a2".to_owned()), "{done:?}");
    // What was read for the change is forgotten.
    apply(&executor, &control, "tunes:\n- {name: t, file: b}\n- {name: u, file: a}\n").unwrap();
    assert_eq!(log.take(), ["read b", "~t b4"]);
}

#[test]
fn a_rehearsal_reads_nothing_itself() {
    let (executor, control, log) = rehearsing();
    apply(&executor, &control, A).unwrap();
    log.take();
    let both = "tunes:\n- {name: t, file: a}\n- {name: u, file: b}\n- {name: v, file: c}\n";
    apply(&executor, &control, both).unwrap();
    let done = log.take();
    let reads: Vec<_> = done.iter().filter(|line| line.starts_with("read")).collect();
    assert_eq!(reads, ["read b", "read c"]);
    for line in ["aside +t a1", "aside +u b2", "aside +v c3", "+u b2", "+v c3"] {
        assert!(done.contains(&line.to_owned()), "{line}: {done:?}");
    }
    // A plan is rehearsed, too, and nothing of it is kept.
    for _ in 0..2 {
        let planned = control.plan("f.yaml", "tunes:\n- {name: w, file: d}\n", Default::default());
        executor.block_on(planned).unwrap();
        assert!(log.take().contains(&"read d".to_owned()));
    }
}

#[test]
fn errors_name_object_and_field_and_change_nothing() {
    let (executor, control, log) = control();
    let told = apply(&executor, &control, "tunes:\n- {name: u, file: a}\n- {name: t, file: missing}\n").unwrap_err();
    assert_eq!(told, "f.yaml:3:19: tunes t: file: there is none");
    let begin = control.now();
    let told = apply(&executor, &control, "tunes:\n- {name: t, file: never}\n").unwrap_err();
    assert_eq!(control.now().since(begin), Duration::from_secs(10));
    assert!(told.starts_with("f.yaml:2:19: tunes t: file: never takes too long to be read; copy it"), "{told}");
    let put = |file: &str| {
        let tune = Tune { file: Some(file.into()), ..Tune::new("t".into()) };
        executor.block_on(control.put_with_content(tune, |_, _| Ok(()))).map_err(|error| error.to_string())
    };
    assert_eq!(put("missing"), Err("tunes t: file: there is none".into()));
    assert!(put("never").unwrap_err().contains("takes too long"));
    assert!(control.objects().all::<Tune>().is_empty());
    assert!(log.take().iter().all(|line| line.starts_with("read")));
    // Put without content, it is refused by its room.
    let tune = || Tune { file: Some("a".into()), ..Tune::new("t".into()) };
    assert_eq!(control.put(tune()).unwrap_err().to_string(), "tunes t: file: it was not read");
    let loud = |control: &Control, tune: &mut Tune| {
        tune.played = control.content::<Tune, String>(tune).is_some();
        Ok(())
    };
    executor.block_on(control.put_with_content(tune(), loud)).unwrap();
    assert!(control.objects().get::<Tune>(&"t".into()).unwrap().played);
}

#[test]
fn who_leaves_while_files_are_read_has_changed_nothing_and_holds_nothing() {
    let (executor, control, log) = control();
    let asked = Box::pin(control.apply("f.yaml", "tunes:\n- {name: t, file: never}\n", Terms::default()));
    assert!(executor.block_on(control.timeout(Duration::from_secs(1), asked)).is_none());
    executor.run_ready();
    assert_eq!(log.take(), ["read never"]);
    assert!(executor.task_names().is_empty() && control.objects().all::<Tune>().is_empty());
    apply(&executor, &control, A).unwrap();
}

#[test]
fn others_forget_nothing_that_a_transaction_has_read() {
    let (executor, control, log) = control();
    let (first, second) = (control.clone(), control.clone());
    control.spawn("first", async move {
        let tune = Tune { file: Some("later".into()), ..Tune::new("v".into()) };
        let refused = first.put_with_content(tune, |_, _| Ok(())).await.unwrap_err().to_string();
        assert!(refused.contains("is changing the configuration"), "{refused}");
    });
    control.spawn("second", async move {
        second.sleep(Duration::from_millis(500)).await;
        let text = "tunes:\n- {name: t, file: a}\n- {name: u, file: later}\n";
        second.apply("f.yaml", text, Terms::default()).await.unwrap();
    });
    executor.run_for(Duration::from_secs(2));
    assert!(executor.task_names().is_empty());
    assert_eq!(log.take(), ["read later", "read a", "read later", "+t a2", "+u later3"]);
}

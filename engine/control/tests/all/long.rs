//! Long answers: in short turns, in parts that belong together, within limits; and what turns cost.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::cli::{Cell as Field, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_control::protocol::{self, Answer, Request, Response};
use quiver_control::{Clock, Control, Time};
use quiver_testkit::executor::Executor;
use serde_json::json;

const NUMBERS: usize = 10_000;

async fn numbers(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output).named("numbers");
    for number in 0..NUMBERS {
        listing.step().await;
        listing.line(&number.to_string());
        listing.element(|| number.into());
    }
    Ok(listing.end_with(json!({"count": NUMBERS})))
}

async fn table(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Number", "Name"]);
    for number in 0..NUMBERS {
        rows.step().await;
        rows.row([Field::from(number), Field::from("x")]);
    }
    Ok(rows.end())
}

fn at_once(_: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let text: String = (0..NUMBERS).map(|number| format!("number {number}\n")).collect();
    Ok(Reply::new(text, (0..NUMBERS).collect()))
}

fn system() -> (Executor, Control) {
    let executor = Executor::new(3);
    let control = executor.control();
    control.commands().add(Command::waiting("show numbers", "Count.", numbers));
    control.commands().add(Command::waiting("show table", "Count.", table));
    control.commands().add(Command::new("show all", "Count at once.", at_once));
    (executor, control)
}

/// The parts of an answer, the end as the last.
fn answered(line: &str, json: bool) -> Vec<Answer> {
    let (executor, control) = system();
    let (answering, end) = protocol::answer(&control, Request::Command { line: line.into(), json });
    let mut parts = vec![];
    let take = async {
        while let Some(Response::Part(part)) = answering.part().await {
            parts.push(part);
        }
    };
    let (end, ()) = executor.block_on(futures_util::future::join(end, take));
    let Response::Done(end) = end else { panic!("{end:?}") };
    parts.push(end);
    parts
}

fn whole(parts: Vec<Answer>) -> Answer {
    let mut whole = Answer::default();
    parts.into_iter().for_each(|part| whole.append(part));
    whole
}

#[test]
fn long_answers_come_in_parts_that_say_so_and_make_a_whole() {
    let lines = |text: &str| text.lines().count();
    for (line, json) in [
        ("show numbers", json!({"numbers": (0..NUMBERS).collect::<Vec<_>>(), "count": NUMBERS})),
        ("show all", (0..NUMBERS).collect()),
    ] {
        let parts = answered(line, false);
        let (last, before) = parts.split_last().expect("an end");
        assert!(
            !before.is_empty() && before.iter().all(|part| part.more) && !last.more,
            "{line}: {} parts",
            parts.len()
        );
        assert!(parts.iter().all(|part| part.json.is_null() && part.text.len() <= 64 << 10), "{line}");
        let text = whole(parts).text;
        assert_eq!((lines(&text), text.ends_with("9999")), (NUMBERS, true), "{line}");
        let parts = answered(line, true);
        assert!(parts.len() > 10 && parts.iter().all(|part| part.text.is_empty()), "{line}: {} parts", parts.len());
        assert_eq!(whole(parts).json, json, "{line}");
    }
    let table = whole(answered("show table", false)).text;
    assert_eq!((lines(&table), table.lines().nth(9_876)), (NUMBERS + 1, Some("  9875  x")));
    assert_eq!(whole(answered("show table", true)).json[9_875], json!({"number": 9_875, "name": "x"}));
}

#[test]
fn what_does_not_fit_into_one_message_is_refused_and_not_made() {
    let (executor, control) = system();
    let made = Rc::new(Cell::new(0));
    let count = made.clone();
    control.commands().add(Command::waiting("show much", "Say much.", move |_, _, output: Output| {
        let count = count.clone();
        async move {
            for _ in 0..1000 {
                count.set(count.get() + 1);
                output.send(Reply::text("x".repeat(1000))).await;
            }
            Ok(Reply::done())
        }
    }));
    let run = |line: &str, max| executor.block_on(control.commands().run_script_within(&control, line, max));
    let (text, refused) = run("show much", 10_000);
    let told = "`show much` answers more than 10000 bytes, the most that goes into one message: ask for less, or run \
                `quiver show much` or `vppctl show much`, which show it page by page";
    assert_eq!((text.trim_end(), refused.unwrap_err().what.as_str()), (told, told));
    assert!(made.get() <= 64, "{} parts were made", made.get());
    let (_, refused) = run("show all", 10_000);
    assert!(refused.unwrap_err().what.starts_with("`show all` answers more than 10000 bytes"));
    let (text, done) = run("show numbers", 100_000);
    assert_eq!((text.lines().count(), done), (NUMBERS, Ok(())));
}

/// A clock whose CPU time goes on when it is told to.
struct Costs(Rc<Cell<Duration>>, Executor);

impl Clock for Costs {
    fn now(&self) -> Time {
        self.1.time()
    }
    fn cpu_time(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

#[test]
fn turns_are_counted_with_their_cost() {
    let (executor, cost) = (Executor::new(1), Rc::new(Cell::new(Duration::ZERO)));
    let host = Rc::new(executor.clone());
    let control = Control::new(Rc::new(Costs(cost.clone(), executor.clone())), host.clone(), host);
    let here = control.clone();
    control.spawn("worker", async move {
        for milliseconds in [1, 7, 5] {
            cost.set(cost.get() + Duration::from_millis(milliseconds));
            here.yield_now().await;
        }
    });
    executor.run_ready();
    let turns = control.turns();
    let [("worker", counts)] = turns[..] else { panic!("{turns:?}") };
    assert_eq!((counts.turns, counts.over, counts.longest), (4, 1, Duration::from_millis(7)));
    assert_eq!(control.turns_of_all(), counts);
    control.clear_turns();
    assert_eq!(control.turns(), []);
    assert_eq!(Executor::new(1).control().turns(), [], "a simulation's clock knows no CPU time");
}

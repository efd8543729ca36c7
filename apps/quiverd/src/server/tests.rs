//! Clients, kind and hostile, against the server.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::LocalSet;

use super::client::READER_PATIENCE;
use super::*;
use crate::places::Places;
use crate::socket::SocketError;

/// Runs `test` against a server with a few commands.
fn with_server<F: Future<Output = ()>>(test: impl FnOnce(PathBuf, Control) -> F) {
    with_server_for(64, test);
}

/// Number of answered echoes.
struct Echoes(u32);

/// The same, with so many places for clients.
fn with_server_for<F: Future<Output = ()>>(clients_max: usize, test: impl FnOnce(PathBuf, Control) -> F) {
    with_places(&Places::new(clients_max), test);
}

/// The same, with these places.
fn with_places<F: Future<Output = ()>>(places: &Places, test: impl FnOnce(PathBuf, Control) -> F) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/cli.sock");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let control = crate::host::control();
        control.insert_room(Echoes(0));
        let echo = |control: &Control, matches: &Matches| {
            control.room_mut::<Echoes>().0 += 1;
            Ok(Reply::text(matches.get::<String>("text")?))
        };
        control.commands().add(Command::new("repeat <text>", "Say it back.", echo));
        let fail = |_: &Control, _: &Matches| -> Result<Reply, CommandError> { panic!("planted") };
        control.commands().add(Command::new("fail", "Panic.", fail));
        control.commands().add(Command::new("big", "A megabyte.", |_, _| Ok(Reply::text("x".repeat(1 << 20)))));
        control.commands().add(Command::waiting("count [forever]", "Count.", count));
        let server = Server::new(Socket::bind(&path, None, places).unwrap());
        tokio::select! {
            () = server.serve(&control) => {}
            () = test(path.clone(), control.clone()) => {}
        }
    });
    assert!(!path.exists(), "the socket's file goes with the server");
}

struct Running(Control);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.room_mut::<u32>().clone_from(&0);
    }
}

async fn count(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    if !control.has_room::<u32>() {
        control.insert_room(0u32);
    }
    *control.room_mut::<u32>() = 1;
    let _running = Running(control.clone());
    for number in 0.. {
        if number == 100 && !matches.has("forever") {
            break;
        }
        output.send(Reply::text(number.to_string())).await;
        control.sleep(Duration::from_millis(1)).await;
    }
    Ok(Reply::text("end"))
}

/// Client for tests: sends lines, reads lines.
struct TestClient(BufReader<UnixStream>);

impl TestClient {
    async fn connect(path: &Path) -> TestClient {
        TestClient(BufReader::new(UnixStream::connect(path).await.unwrap()))
    }
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }
    async fn ask(&mut self, line: &str) -> String {
        self.send(&format!("{{\"command\":{{\"line\":{line:?}}}}}\n")).await;
        self.line().await
    }
}

#[test]
fn requests_are_answered_in_order() {
    with_server(async |path, _| {
        let mut client = TestClient::connect(&path).await;
        client
            .send(
                "{\"command\":{\"line\":\"repeat a\"}}\n{\"command\":{\"line\":\"repea b\",\"json\":true}}\nnonsense\n",
            )
            .await;
        assert_eq!(client.line().await, r#"{"done":{"text":"a"}}"#);
        assert_eq!(client.line().await, r#"{"done":{"json":"b"}}"#);
        assert!(client.line().await.starts_with(r#"{"error":{"what":"this is no request:"#));
        client.send("{\"complete\":{\"line\":\"repe\"}}\n").await;
        let completed = client.line().await;
        assert_eq!(
            completed,
            r#"{"completions":{"start":0,"words":[{"word":"repeat","help":"Say it back.","insert":true}]}}"#
        );
        assert_eq!(
            client.ask("repeat").await,
            r#"{"error":{"what":"the command is not complete","place":{"start":6,"end":6},"expected":["<text> (a word, or several in double quotes)"]}}"#
        );
    });
}

#[test]
fn parts_come_before_the_end_and_a_client_that_leaves_ends_its_command() {
    with_server(async |path, control| {
        let mut client = TestClient::connect(&path).await;
        client.send("{\"command\":{\"line\":\"count\"}}\n").await;
        for number in 0..100 {
            assert_eq!(client.line().await, format!(r#"{{"part":{{"text":"{number}"}}}}"#));
        }
        assert_eq!(client.line().await, r#"{"done":{"text":"end"}}"#);
        assert_eq!(*control.room::<u32>(), 0);
        client.send("{\"command\":{\"line\":\"count forever\"}}\n").await;
        client.line().await;
        assert_eq!(*control.room::<u32>(), 1, "it counts");
        drop(client);
        while *control.room::<u32>() == 1 {
            control.sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_command_that_panics_costs_only_its_client() {
    with_server(async |path, _| {
        let mut bystander = TestClient::connect(&path).await;
        let mut client = TestClient::connect(&path).await;
        assert_eq!(client.ask("fail").await, "", "the connection is closed");
        assert_eq!(bystander.ask("repeat b").await, r#"{"done":{"text":"b"}}"#);
    });
}

#[test]
fn a_reader_that_never_reads_blocks_nobody_and_is_dropped_in_the_end() {
    with_server(async |path, control| {
        let mut deaf = TestClient::connect(&path).await;
        for _ in 0..8 {
            deaf.send("{\"command\":{\"line\":\"big\"}}\n").await;
        }
        let mut client = TestClient::connect(&path).await;
        assert_eq!(client.ask("repeat b").await, r#"{"done":{"text":"b"}}"#);
        control.sleep(READER_PATIENCE * 2).await;
        let mut rest = Vec::new();
        // All that the socket held, then the end: not the eight megabytes.
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut deaf.0, &mut rest).await;
        assert!(rest.len() < 4 << 20, "{} bytes", rest.len());
    });
}

#[test]
fn whoever_is_idle_for_longest_makes_room() {
    with_server_for(8, async |path, _| {
        let mut clients = Vec::new();
        for number in 0..100 {
            let mut client = TestClient::connect(&path).await;
            assert_eq!(client.ask("repeat a").await, ECHOED, "client {number}");
            clients.push(client);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The first one asks again, so the second is idle for longest.
        let mut late = clients.split_off(92);
        assert_eq!(late[0].ask("repeat a").await, ECHOED);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(TestClient::connect(&path).await.ask("repeat a").await, ECHOED);
        assert_eq!(late[0].ask("repeat a").await, ECHOED);
        let told = late[1].line().await;
        assert!(told.contains("idle for longest") && told.ends_with(r#""reason":"evicted"}}"#), "{told}");
        assert_eq!(late[1].line().await, "", "and it was closed");
    });
}

const ECHOED: &str = r#"{"done":{"text":"a"}}"#;

/// Asks for an answer, from a new connection each time, until there is one. When a place becomes free is the business of
/// [`Places`](crate::places::Places); tokio's clock goes on as soon as everybody waits, which may be before the last news was read.
async fn served_in_the_end(path: &Path, control: &Control, step: Duration) {
    let mut told = String::new();
    for _ in 0..50 {
        let mut client = TestClient::connect(path).await;
        // A refused client may have lost its connection.
        let _ = client.0.write_all(b"{\"command\":{\"line\":\"repeat a\"}}\n").await;
        told = client.line().await;
        if told == ECHOED {
            return;
        }
        control.sleep(step).await;
    }
    panic!("never served, but told: {told}");
}

#[test]
fn who_waits_for_an_answer_keeps_its_place_and_a_newcomer_is_told() {
    with_server_for(4, async |path, control| {
        let mut clients = Vec::new();
        for _ in 0..4 {
            let mut client = TestClient::connect(&path).await;
            client.send("{\"command\":{\"line\":\"count forever\"}}\n").await;
            client.line().await;
            clients.push(client);
        }
        let told = TestClient::connect(&path).await.line().await;
        assert!(told.contains("4 clients wait") && told.ends_with(r#""reason":"crowded"}}"#), "{told}");
        clients.pop();
        served_in_the_end(&path, &control, Duration::from_millis(5)).await;
        for client in &mut clients {
            assert!(client.line().await.starts_with(r#"{"part":"#));
        }
    });
}

#[test]
fn who_does_not_read_makes_room_for_who_does() {
    with_server_for(4, async |path, control| {
        let mut deaf = Vec::new();
        for _ in 0..4 {
            let mut client = TestClient::connect(&path).await;
            client.send("{\"command\":{\"line\":\"big\"}}\n").await;
            deaf.push(client);
        }
        served_in_the_end(&path, &control, Duration::from_millis(500)).await;
    });
}

/// Answers that clients have not read yet take memory of the daemon, so there is one limit for all clients together.
#[test]
fn answers_that_nobody_reads_have_their_limit_together() {
    const MOST: usize = 8 << 20;
    let places = Places::with_bytes(64, MOST);
    with_places(&places, async |path, control| {
        let mut deaf = Vec::new();
        for _ in 0..32 {
            let mut client = TestClient::connect(&path).await;
            client.send("{\"command\":{\"line\":\"big\"}}\n").await;
            deaf.push(client);
        }
        control.sleep(Duration::from_millis(100)).await;
        assert!((MOST / 2..=MOST).contains(&places.bytes()), "{} bytes wait", places.bytes());
        assert_eq!(TestClient::connect(&path).await.ask("repeat a").await, ECHOED);
        let mut whole = 0;
        for mut client in deaf {
            whole += usize::from(client.line().await.ends_with('}'));
        }
        assert!((1..=MOST >> 20).contains(&whole), "{whole} of 32 answers of a megabyte");
        assert_eq!(places.bytes(), 0, "nothing waits any more");
    });
}

#[test]
fn who_sends_much_at_once_waits_for_others_after_each_request() {
    with_server(async |path, control| {
        const SENT: usize = 20_000;
        let greedy = TestClient::connect(&path).await;
        let mut client = TestClient::connect(&path).await;
        assert_eq!(client.ask("repeat a").await, ECHOED);
        let (mut answers, mut requests) = greedy.0.into_inner().into_split();
        let sending = async {
            requests.write_all("{\"command\":{\"line\":\"repeat b\"}}\n".repeat(SENT).as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        };
        let reading = async { tokio::io::copy(&mut answers, &mut tokio::io::sink()).await.unwrap() };
        let asking = async {
            for _ in 0..100 {
                let before = control.room::<Echoes>().0;
                assert_eq!(client.ask("repeat a").await, ECHOED);
                // One request of the other is answered for each time that we are.
                let between = control.room::<Echoes>().0 - before;
                assert!(between < 20, "{between} requests of the other came first");
            }
        };
        tokio::select! { () = sending => {}, _ = reading => {}, () = asking => {} }
        let answered = control.room::<Echoes>().0;
        assert!((100..SENT as u32).contains(&answered), "the other was still busy, and not starved: {answered}");
    });
}

#[test]
fn an_endless_request_is_refused() {
    with_server(async |path, _| {
        let mut client = TestClient::connect(&path).await;
        let chunk = "x".repeat(1 << 20);
        // The server may hang up before all of it is written.
        for _ in 0..17 {
            if client.0.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
        let told = client.line().await;
        assert!(told.contains("a request has at most 16777216 bytes") && told.contains(r#""too-long""#), "{told}");
        // Unread data makes the end a reset.
        assert!(!matches!(client.0.read_line(&mut String::new()).await, Ok(1..)));
    });
}

#[test]
fn a_dead_daemons_socket_is_replaced_and_a_living_ones_is_not() {
    with_server(async |path, _| {
        assert!(matches!(Socket::bind(&path, None, &Places::new(1)), Err(SocketError::InUse(_))));
        let dead = path.with_file_name("dead.sock");
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        assert!(dead.exists());
        Socket::bind(&dead, None, &Places::new(1)).unwrap();
        let file = path.with_file_name("notes.txt");
        std::fs::write(&file, "mine").unwrap();
        assert!(matches!(Socket::bind(&file, None, &Places::new(1)), Err(SocketError::Taken(_))));
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
        assert!(matches!(
            Socket::bind(Path::new("/proc/none/x.sock"), None, &Places::new(1)),
            Err(SocketError::Refused { .. })
        ));
    });
}

/// A configuration object that takes a while.
#[derive(quiver_control::Object, Clone, Debug, PartialEq)]
#[object(kind = "numbers")]
struct Number {
    /// Its number.
    #[key]
    value: u32,
}

#[test]
fn others_are_answered_and_timers_run_while_a_large_file_is_applied() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cli.sock");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let control = crate::host::control();
        control.objects().add(quiver_control::Kind::new(|_, _: quiver_control::Change<'_, Number>| Ok(())));
        let server = Server::new(Socket::bind(&path, None, &Places::new(64)).unwrap());
        tokio::select! {
            () = server.serve(&control) => {}
            () = ask_meanwhile(&path, &control) => {}
        }
    });
}

/// Counts how often something gets its turn.
fn count_in_background<F: Future<Output = ()> + 'static>(mut turn: impl FnMut() -> F + 'static) -> Rc<Cell<u32>> {
    let counted = Rc::new(Cell::new(0));
    let count = counted.clone();
    tokio::task::spawn_local(async move {
        loop {
            turn().await;
            count.set(count.get() + 1);
        }
    });
    counted
}

async fn ask_meanwhile(path: &Path, control: &Control) {
    const COUNT: u32 = 20_000;
    /// Steps of long work in a turn at most.
    const STEPS_MAX: u32 = 64;
    /// Turns of others in which a question is read, answered, and the answer read.
    const TURNS_MAX: u32 = 20;
    let text: String = (0..COUNT).map(|value| format!("- {{value: {value}}}\n")).collect();
    let request = serde_json::json!({"apply": {"name": "large.yaml", "text": format!("numbers:\n{text}")}});
    let (mut applying, mut client) = (TestClient::connect(path).await, TestClient::connect(path).await);
    assert!(!client.ask("show transaction").await.contains("large.yaml"));
    applying.send(&format!("{request}\n")).await;
    let turns = count_in_background(tokio::task::yield_now);
    let timers = count_in_background(|| tokio::time::sleep(Duration::from_millis(1)));
    let (mut answers, mut longest, mut amidst) = (0, 0, 0);
    let applied = applying.line();
    tokio::pin!(applied);
    let told = loop {
        tokio::select! {
            told = &mut applied => break told,
            () = tokio::task::yield_now() => {}
        }
        let asked = turns.get();
        let answer = client.ask("show transaction").await;
        longest = longest.max(turns.get() - asked);
        answers += 1;
        amidst += usize::from(answer.contains("is changing the configuration: apply large.yaml, step"));
        let running = control.objects().all::<Number>().len() as u32;
        if (1..COUNT).contains(&running) {
            // Other clients may not change anything meanwhile; the refusal names the author.
            let refused = client.0.get_mut();
            refused.write_all(b"{\"apply\":{\"name\":\"empty\",\"text\":\"\"}}\n").await.unwrap();
            let refused = client.line().await;
            assert!(refused.contains(r#""reason":"held""#) || control.objects().all::<Number>().len() as u32 == COUNT);
        }
    };
    assert!(told.contains("+ numbers 0"), "{}", &told[..200.min(told.len())]);
    let (turns, timers) = (turns.get(), timers.get());
    println!(
        "{answers} answers, {amidst} of them amidst, and {timers} timers in {turns} turns; at most {longest} for one"
    );
    // The file is read in such turns, and then made to run.
    assert!(turns > 2 * COUNT / STEPS_MAX, "only {turns} turns");
    assert!(longest < TURNS_MAX, "one answer took {longest} turns");
    assert!(amidst > 5 && timers > 0, "{amidst} amidst, {timers} timers");
}

//! A server that does not answer as it should.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};

/// An answer of the hostile server to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// This status, with nothing behind it.
    Status(u16),
    /// All of it.
    Body(Vec<u8>),
    /// It promises all, and closes after half.
    Cut(Vec<u8>),
    /// It hangs up without a word.
    Nothing,
    /// It says nothing, and stays.
    Silence,
    /// It does not speak HTTP.
    Garbage,
}

/// Runs until it is dropped.
pub struct Hostile {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Hostile {
    /// Answers in this order, whatever is asked; then with 200.
    pub fn start(answers: Vec<Answer>) -> io::Result<Hostile> {
        let answers = Mutex::new(answers.into_iter());
        Hostile::by_path(move |_, _| {
            answers.lock().ok().and_then(|mut answers| answers.next()).unwrap_or(Answer::Status(200))
        })
    }

    /// Answers by path, without what stands behind a question mark, and by how often it was asked for.
    pub fn by_path(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> io::Result<Hostile> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (heard, over, answer) = (requests.clone(), is_over.clone(), Arc::new(answer));
        let asked = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (heard, answer, asked) = (heard.clone(), answer.clone(), asked.clone());
                let Ok(stream) = stream else { continue };
                thread::spawn(move || {
                    let said = |path: &str| {
                        let mut asked = asked.lock().expect("no panic");
                        let count = asked.entry(path.to_owned()).or_default();
                        *count += 1;
                        answer(path, *count - 1)
                    };
                    // Who hangs up meanwhile may.
                    let _: io::Result<()> = serve(stream, &heard, said);
                });
            }
        });
        Ok(Hostile { port, requests, is_over, thread: Some(thread) })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Heads of all requests, in small letters but for the first line.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic").clone()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes it.
        let _: io::Result<TcpStream> = TcpStream::connect(("127.0.0.1", self.port));
        let _: Option<thread::Result<()>> = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// One request a connection.
fn serve(stream: TcpStream, heard: &Mutex<Vec<String>>, answer: impl Fn(&str) -> Answer) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    reader.read_line(&mut head)?;
    let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head += &line;
    }
    if head.is_empty() {
        return Ok(());
    }
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    heard.lock().expect("no panic").push(head);
    let mut stream = stream;
    let start = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: \"1\"\r\nLast-Modified: Sun, 22 Nov 2026 14:00:00 GMT\r\n\
             Connection: close\r\n\r\n"
        )
    };
    match answer(&path) {
        Answer::Status(200) => stream.write_all(start(0).as_bytes()),
        Answer::Status(status) => stream
            .write_all(format!("HTTP/1.1 {status} Told\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes()),
        Answer::Body(body) => stream.write_all(&[start(body.len()).as_bytes(), &body].concat()),
        Answer::Cut(body) => stream.write_all(&[start(body.len()).as_bytes(), &body[..body.len() / 2]].concat()),
        Answer::Nothing => Ok(()),
        Answer::Silence => {
            thread::sleep(Duration::from_secs(5));
            Ok(())
        }
        Answer::Garbage => stream.write_all(b"\x16\x03\x01 this is no HTTP\r\n\r\n"),
    }
}

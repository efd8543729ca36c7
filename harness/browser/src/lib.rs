//! Chromium without a window, driven by its DevTools protocol through a pipe (`--remote-debugging-pipe`): JSON, each message
//! ended by a zero byte.
//!
//! For tests: what fails is a panic that names it.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a page may take; it is never this long, but on a machine that builds something.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pixels of a picture from the top of the page.
const HEIGHT_MAX: f64 = 2600.0;

/// A browser with one page.
pub struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// URLs that the page asked for.
    pub asked: Vec<String>,
    /// Exceptions and errors that the page told.
    pub errors: Vec<String>,
    /// Its profile.
    _folder: TempDir,
}

impl Browser {
    /// Starts one whose page is as wide and high.
    pub fn start(width: u32, height: u32) -> Browser {
        let folder = tempfile::tempdir().expect("a folder for its profile");
        let mut command = Command::new("sh");
        // The protocol is spoken on descriptors 3 and 4.
        command.args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"]);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]);
        command.args(["--disable-dev-shm-usage", "--disable-background-networking", "--force-prefers-reduced-motion"]);
        command.args(["--enable-precise-memory-info", "--js-flags=--expose-gc"]);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("install it: apt-get install --no-install-recommends chromium");
        let requests = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (session, asked, errors) = (String::new(), vec![], vec![]);
        let mut browser = Browser { child, requests, answers, session, next: 0, asked, errors, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Sets the size of the page; below 600 pixels it is a phone's.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Whether the system is dark.
    pub fn set_dark(&mut self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// The process of the browser.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks the browser, and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut request = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            request["sessionId"] = self.session.clone().into();
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).expect("chromium runs");
        loop {
            let mut bytes = Vec::new();
            let length = self.answers.read_until(0, &mut bytes).expect("chromium answers");
            assert!(length > 0, "chromium ended at {method}");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            self.note(&answer);
            if answer["id"] == self.next {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.asked.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            Some("Runtime.exceptionThrown") => self.errors.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Opens an address in the page anew.
    pub fn open(&mut self, url: &str) {
        // The same file with another address behind # is not loaded again by itself.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
        self.settle();
    }

    /// Goes to a view, `#/news?days=7`, as a link does.
    pub fn go(&mut self, hash: &str) {
        self.value(&format!("location.hash = {}", Value::from(hash)));
        self.settle();
    }

    /// Waits until the view of the address is there.
    pub fn settle(&mut self) {
        let is_there = "document.readyState === 'complete' && typeof quiver !== 'undefined' && quiver.shown === location.hash \
                        && !document.body.hasAttribute('aria-busy')";
        self.wait(is_there);
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "never true: {expression}; errors: {:?}", self.errors);
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression of JavaScript; of a promise, what it brings.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Moves the pointer; with `is_click` the button is pressed there, too.
    pub fn point(&mut self, left: f64, top: f64, is_click: bool) {
        let kinds: &[&str] = if is_click { &["mouseMoved", "mousePressed", "mouseReleased"] } else { &["mouseMoved"] };
        for kind in kinds {
            let button = if *kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({ "type": kind, "x": left, "y": top, "button": button, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key, such as `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            let code = match key {
                "Enter" => 13,
                "Tab" => 9,
                _ => 0,
            };
            let event = json!({ "type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text into the field that has the focus.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Keeps a picture of the page, from its top.
    pub fn keep(&mut self, path: &Path) {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let height = size["height"].as_f64().unwrap_or(0.0).min(HEIGHT_MAX);
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1 });
        let shot = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.call("Page.captureScreenshot", shot);
        let bytes = STANDARD.decode(shot["data"].as_str().expect("a picture")).expect("base64");
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for pictures");
        fs::write(path, bytes).expect("a picture");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

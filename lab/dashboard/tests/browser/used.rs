//! The pages used as people do: pointer, keyboard, links, downloads.

use serde_json::{Value, json};

use crate::made::small;
use quiver_browser::Browser;

#[test]
fn a_point_is_clicked_and_its_document_opens() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let place = browser.value("quiver.charts[0].place(quiver.charts[0].points[5])");
    browser.point(place["left"].as_f64().unwrap(), place["top"].as_f64().unwrap(), true);
    let link = browser.value("document.querySelector('.panel a').getAttribute('href')");
    let link = link.as_str().expect("a link").to_owned();
    assert!(link.starts_with("#/case?id=") && link.ends_with("&document=5"), "{link}");
    browser.go(&link);
    let time = browser.value("document.querySelector('article h2').textContent");
    let wanted = browser.value("quiver.loadIndex().then(index => quiver.loadCase(index.byId.get(quiver.address().query.get('id')))).then(file => quiver.moment(file.rows[5].time))");
    assert_eq!(time.as_str().unwrap(), format!("Document of {}", wanted.as_str().unwrap()));
}

#[test]
fn keys_go_from_point_to_point_and_case_to_case() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let told =
        |browser: &mut Browser| browser.value("quiver.charts[0].tip.hidden ? null : quiver.charts[0].tip.innerText");
    browser.value("document.querySelector('.chart').focus()");
    let mut seen = vec![told(&mut browser)];
    for key in ["ArrowRight", "ArrowRight", "End", "ArrowLeft", "Home"] {
        browser.press(key);
        seen.push(told(&mut browser));
    }
    assert_eq!(seen[0], Value::Null);
    assert_eq!(seen[1], seen[5], "Home is the first point");
    let all: std::collections::BTreeSet<String> = seen.iter().map(Value::to_string).collect();
    assert_eq!(all.len(), 5, "{seen:?}");
    browser.press("Enter");
    assert_eq!(browser.value("document.querySelectorAll('.panel').length"), json!(1));
    browser.press("Escape");
    assert_eq!(told(&mut browser), Value::Null);
    // A second case by the keyboard.
    browser.value("document.querySelector('.picker input').focus()");
    browser.write("ndrpdr");
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.settle();
    assert_eq!(browser.value("document.querySelectorAll('.chips li').length"), json!(2));
    assert_eq!(browser.value("new Set(quiver.charts[0].points.map(point => point.series)).size <= 2"), json!(true));
    // A link shows the same to others.
    let hash = browser.value("location.hash");
    let points = browser.value("quiver.charts[0].points.map(point => [point.x, point.y])");
    browser.open(&format!("{}{}", made.url(), hash.as_str().unwrap()));
    assert_eq!(browser.value("quiver.charts[0].points.map(point => [point.x, point.y])"), points);
}

#[test]
fn tables_are_sorted_and_downloaded() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    browser.go("#/coverage");
    let column = "quiver.tables[0].rows().map(row => row['PDR, Mpps'])";
    let click =
        "[...document.querySelectorAll('thead button')].find(button => button.textContent === 'PDR, Mpps').click()";
    browser.value(click);
    let falling: Vec<Option<f64>> = browser.value(column).as_array().unwrap().iter().map(Value::as_f64).collect();
    browser.value(click);
    let rising: Vec<Option<f64>> = browser.value(column).as_array().unwrap().iter().map(Value::as_f64).collect();
    let known: Vec<f64> = rising.iter().copied().flatten().collect();
    assert!(known.len() >= 3 && known.is_sorted(), "{rising:?}");
    assert!(falling[..known.len()].iter().flatten().rev().is_sorted(), "{falling:?}");
    assert!(rising[known.len()..].iter().all(Option::is_none) && falling[known.len()..].iter().all(Option::is_none));
    assert_eq!(browser.value("document.querySelector('th[aria-sort]').getAttribute('aria-sort')"), json!("ascending"));
    assert!(browser.value("location.hash").as_str().unwrap().contains("sort=PDR"));
    // CSV has a line for each row; texts that a spreadsheet would run are quoted.
    let lines = browser.value("quiver.csv(quiver.tables[0].rows()).trim().split('\\r\\n').length");
    assert_eq!(lines.as_u64(), Some(1 + rising.len() as u64));
    let cells = browser.value("quiver.csv([{ a: '=1+1', b: 'x\"y', c: -1.5, d: null }])");
    assert_eq!(cells, json!("a,b,c,d\r\n'=1+1,\"x\"\"y\",-1.5,\r\n"));
    // Files arrive.
    let folder = tempfile::tempdir().unwrap();
    browser.call("Page.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": folder.path() }));
    browser.value(
        "[...document.querySelectorAll('.downloads button')].find(button => button.textContent === 'JSON').click()",
    );
    let path = folder.path().join("coverage-throughput.json");
    let begun = std::time::Instant::now();
    while !path.exists() {
        assert!(begun.elapsed().as_secs() < 30, "no file came");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(file, browser.value("quiver.tables[0].rows()"));
}

#[test]
fn figures_are_normalized_by_the_clock() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let value = "quiver.charts[0].points[0].value";
    let before = browser.value(value).as_f64().unwrap();
    browser.value("[...document.querySelectorAll('label.check input')][0].click()");
    browser.settle();
    let after = browser.value(value).as_f64().unwrap();
    // The made-up machine has 2.6 GHz.
    assert!((after / before - 2.0 / 2.6).abs() < 1e-12, "{before} {after}");
    assert!(browser.value("location.hash").as_str().unwrap().contains("normalize=1"));
}

#[test]
fn the_theme_is_kept() {
    let made = small();
    let mut browser = Browser::start(1400, 1000);
    browser.set_dark(false);
    browser.open(&made.url());
    let back = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(back);
    browser.value("document.getElementById('theme').click(); document.getElementById('theme').click()");
    let dark = browser.value(back);
    assert_ne!(light, dark);
    browser.open(&made.url());
    assert_eq!(browser.value(back), dark);
}

//! Every view on a wide and a narrow page, light and dark: it opens without an error, loads nothing from elsewhere, and fits.
//! Pictures are kept in `target/dashboard`, by view and width; continuous integration keeps them.

use std::path::Path;

use serde_json::json;

use crate::made::{Made, small};
use quiver_browser::Browser;

/// Views with settings that show much of them.
fn addresses(made: &Made) -> Vec<(&'static str, String)> {
    let revisions: Vec<&str> = made.documents.iter().map(|stored| stored.document.dut_version.as_str()).collect();
    let (a, b) = (revisions[0], revisions[690]);
    vec![
        ("trending", "#/trending".into()),
        ("comparisons", format!("#/comparisons?a={a}&b={b}")),
        ("coverage", "#/coverage".into()),
        ("delays", "#/coverage?part=forward".into()),
        ("news", "#/news?days=200".into()),
        ("energy", "#/energy".into()),
        ("search", "#/search".into()),
    ]
}

#[test]
fn every_view_opens_and_fits() {
    let made = small();
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join("dashboard");
    let mut browser = Browser::start(1400, 1000);
    browser.open(&made.url());
    let mut addresses = addresses(&made);
    let all = browser.value("quiver.loadIndex().then(index => index.all.map(series => [series.id, series.kind]))");
    let first = |kind: &str| {
        let found = all.as_array().expect("series").iter().find(|series| series[1] == kind);
        found.expect("one of the kind")[0].as_str().expect("an id").to_owned()
    };
    let ids: Vec<&str> = all.as_array().expect("series").iter().filter_map(|series| series[0].as_str()).collect();
    addresses.push(("cases", format!("#/trending?figure=MRR%2C+pps&case={}", ids.join("&case="))));
    let latency = "P99+at+50+%25+PDR+forward%2C+us";
    addresses.push(("latency", format!("#/trending?figure={latency}&case={}", first("ndrpdr"))));
    addresses.push(("case", format!("#/case?id={}", first("ndrpdr"))));
    for (name, is_dark, width, height) in [
        ("1400", false, 1400, 1000),
        ("1400-dark", true, 1400, 1000),
        ("390", false, 390, 844),
        ("390-dark", true, 390, 844),
    ] {
        browser.resize(width, height);
        browser.set_dark(is_dark);
        for (view, address) in &addresses {
            browser.go(address);
            let is_empty = browser.value("document.querySelector('main .view').innerText.trim().length < 50");
            assert_eq!(is_empty, json!(false), "{view}");
            let wide = browser.value("document.documentElement.scrollWidth - innerWidth").as_f64().expect("a number");
            assert!(wide <= 0.0, "{view} at {width}: {wide} pixels are out of sight");
            browser.keep(&pictures.join(format!("{view}-{name}.png")));
        }
    }
    assert_eq!(browser.errors, Vec::<String>::new());
    let elsewhere: Vec<&String> = browser
        .asked
        .iter()
        .filter(|url| !["file:", "data:", "blob:", "about:"].iter().any(|own| url.starts_with(own)))
        .collect();
    assert!(elsewhere.is_empty() && browser.asked.len() > 10, "{elsewhere:?}");
}

//! The pages' program: our scripts, style and the plotting library, bundled when the crate is compiled.

/// The license of the plotting library, uPlot, which is MIT's.
pub const LICENSE: &str = include_str!(concat!(env!("OUT_DIR"), "/LICENSE"));

const PLOT: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.iife.min.js"));
const PLOT_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.min.css"));

/// Scripts of both pages, in the order in which they run.
const SCRIPTS: &[&str] = &[
    include_str!("../page/element.js"),
    include_str!("../page/theme.js"),
    include_str!("../page/data.js"),
    include_str!("../page/format.js"),
    include_str!("../page/marks.js"),
    include_str!("../page/chart.js"),
    include_str!("../page/table.js"),
];

/// Scripts of the page with results.
const RESULTS: &[&str] = &[
    include_str!("../page/address.js"),
    include_str!("../page/ratio.js"),
    include_str!("../page/histogram.js"),
    include_str!("../page/choice.js"),
    include_str!("../page/trending.js"),
    include_str!("../page/comparisons.js"),
    include_str!("../page/coverage.js"),
    include_str!("../page/news.js"),
    include_str!("../page/energy.js"),
    include_str!("../page/search.js"),
    include_str!("../page/document.js"),
    include_str!("../page/case.js"),
    include_str!("../page/start.js"),
];

/// Scripts of the page of a running daemon.
const LIVE: &[&str] = &[include_str!("../page/live.js")];

/// A file of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the folder.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// A page with its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Results: the site.
    Results,
    /// A running daemon, which asks for `live.json` and `graph.svg` again and again.
    Live,
}

impl Page {
    /// All files of the page but for its data.
    pub fn files(self) -> Vec<File> {
        let (page, scripts) = match self {
            Page::Results => (include_str!("../page/index.html"), RESULTS),
            Page::Live => (include_str!("../page/live.html"), LIVE),
        };
        let file = |name, text: &str| File { name, text: text.to_owned() };
        vec![
            file("index.html", page),
            File { name: "style.css", text: format!("{PLOT_STYLE}\n{}", include_str!("../page/style.css")) },
            file("plot.js", &format!("/*\n{LICENSE}*/\n{PLOT}")),
            file("program.js", &bundle([SCRIPTS, scripts].concat())),
        ]
    }
}

/// One script of several. Each has names of its own; what others use is in the object `quiver`.
fn bundle(scripts: Vec<&str>) -> String {
    let wrapped = scripts.iter().map(|script| format!("(() => {{\n{script}}})();\n"));
    format!("\"use strict\";\nconst quiver = {{}};\n{}", wrapped.collect::<String>())
}

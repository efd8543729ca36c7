//! The plots of docs/performance.md: what a packet costs over routes and stations, over the size of vectors, and of
//! frames; and what workers forward together.

use std::error::Error;
use std::path::Path;

use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;

use super::rows::{Row, Rows};

/// Pixels.
const SIZE: (u32, u32) = (760, 360);
const FONT: &str = "sans-serif";
const COLORS: [RGBColor; 8] = [
    RGBColor(31, 95, 168),
    RGBColor(179, 52, 31),
    RGBColor(46, 125, 50),
    RGBColor(217, 154, 43),
    RGBColor(120, 60, 150),
    RGBColor(90, 90, 90),
    RGBColor(0, 140, 150),
    RGBColor(200, 90, 140),
];

/// A curve: its name, and points in order.
type Curve = (String, Vec<(f64, f64)>);

/// One picture. All of its points come from one run: no line joins figures of different machines or revisions.
struct Plot {
    curves: Vec<Curve>,
    /// Which run, in words.
    run: String,
}

impl Plot {
    /// Plots the run with the most points, and of several the newest: a run of some paths only does not stand for all.
    fn of(file: &Rows, key: &[&str], curves: impl Fn(&Rows) -> Vec<Curve>) -> Plot {
        let plots = file.runs().into_iter().map(|run| {
            let run = run.last_by(key);
            let named =
                run.iter().next().map(|row| ["revision", "date", "cpu"].map(|column| row.get(column).to_owned()));
            Plot { curves: curves(&run), run: named.map_or_else(String::new, |named| named.join(", ")) }
        });
        plots.max_by_key(|plot| plot.points().count()).unwrap_or_else(|| Plot { curves: vec![], run: String::new() })
    }
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.curves.iter().flat_map(|(_, points)| points.iter().copied())
    }
    fn draw(&self, path: &Path, title: &str) -> Result<(), Box<dyn Error>> {
        let (least, most) =
            (self.points().map(|p| p.0).fold(f64::MAX, f64::min), self.points().map(|p| p.0).fold(0.0, f64::max));
        let ticks = ticks(self.points().map(|p| p.0));
        let highest = self.points().map(|p| p.1).fold(0.0, f64::max);
        if least >= most {
            return Err("there are no rows to draw".into());
        }
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .caption(title, (FONT, 14))
            .x_label_area_size(46)
            .y_label_area_size(46)
            .build_cartesian_2d((least..most).log_scale().with_key_points(ticks), 0.0..highest * 1.1)?;
        chart
            .configure_mesh()
            .x_labels(TICKS_MAX)
            .x_label_formatter(&count)
            .x_desc(&self.run)
            .max_light_lines(0)
            .draw()?;
        for ((name, points), color) in self.curves.iter().zip(COLORS.iter().cycle()) {
            let color = *color;
            let series = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
            let legend = move |(x, y): (i32, i32)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2));
            chart.draw_series(series)?.label(name).legend(legend);
        }
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.7)).draw()?;
        Ok(root.present()?)
    }
}

/// Draws all of them, in the workspace at `root`.
pub fn draw(root: &Path) -> Result<(), String> {
    let folder = root.join("docs/performance");
    let read = |file: &str| Rows::read(&root.join("bench").join(file));
    let (graph, memif, workers) = (read("graph.csv")?, read("memif.csv")?, read("workers.csv")?);
    let graph = graph.only(|row| row.get("pages") != super::SMALL_PAGES);
    let [of_graph, of_memif, of_workers] =
        [["path", "way", "vector"], ["placement", "bytes", "way"], ["path", "case", "way"]];
    let full = |row: &Row| row.get("vector") == "256" && super::is_present(row);
    let of_many = |row: &Row| full(row).then(|| entries(row.get("path"))).flatten();
    let plots = [
        (
            "entries.svg",
            "ticks per packet over routes or stations",
            Plot::of(&graph, &of_graph, |run| curves(run, kind, of_many, "ticks")),
        ),
        (
            "vectors.svg",
            "ticks per packet over packets in a vector",
            Plot::of(&graph, &of_graph, |run| curves(run, of_few, |row| row.number("vector"), "ticks")),
        ),
        (
            "frames.svg",
            "ticks per packet over bytes of a packet, from memif to memif",
            Plot::of(&memif, &of_memif, |run| curves(run, between, |row| row.number("bytes"), "ticks")),
        ),
        (
            "workers.svg",
            "million packets a second over workers, each with a queue of its own",
            Plot::of(&workers, &of_workers, |run| curves(run, own_queues, |row| row.number("workers"), "mpps")),
        ),
    ];
    for (file, title, plot) in plots {
        let path = folder.join(file);
        plot.draw(&path, title).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The table and the way of a row's path, without the number of entries.
fn kind(row: &Row) -> Option<String> {
    Some(format!("{}, {}", table(row.get("path"))?, row.get("way")))
}

/// The first of that. Paths that do something else, with eight routes or so, are none.
fn table(path: &str) -> Option<String> {
    let (of, counted) = path.strip_suffix(", counted").map_or((path, ""), |of| (of, ", counted"));
    if of == "bridge" {
        return Some("stations of a bridge".into());
    }
    let (what, entries) = of.split_once(", ")?;
    let entries = entries.trim_start_matches(|c: char| c.is_ascii_digit());
    let kind = entries.trim_start_matches(" thousand").trim_start_matches(" million").trim_start();
    let table = match (what, kind) {
        ("bridge", "stations") => "stations of a bridge",
        ("ip4", "routes") => "routes, dense",
        ("ip4", "routes as in BGP") => "routes as in BGP",
        ("ip6", "hosts") => "IPv6 hosts",
        ("ip6", "routes as in BGP") => "IPv6 routes as in BGP",
        _ => return None,
    };
    Some(format!("{table}{counted}"))
}

/// The entries of a path's table, by its name.
fn entries(path: &str) -> Option<f64> {
    if path == "bridge" {
        return Some(2.0);
    }
    let words: Vec<&str> = path.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| word.parse::<f64>().is_ok())?;
    let number: f64 = words[at].parse().ok()?;
    match *words.get(at + 1)? {
        "thousand" => Some(number * 1e3),
        "million" => Some(number * 1e6),
        _ => Some(number),
    }
}

/// Paths with small tables, and with the largest.
fn of_few(row: &Row) -> Option<String> {
    let path = row.get("path");
    let is_one = ["cross-connect", "bridge", "ip4, 8 routes", "ip4, 2 million routes as in BGP"].contains(&path);
    (is_one && super::is_present(row)).then(|| path.to_owned())
}

/// Between which peers packets went, and by which way.
fn between(row: &Row) -> Option<String> {
    super::is_present(row).then(|| format!("{}, {}", row.get("placement"), row.get("way")))
}

/// The path and way of workers that share nothing.
fn own_queues(row: &Row) -> Option<String> {
    let is_own = ["one queue", "a queue each"].contains(&row.get("case"));
    (is_own && super::is_present(row)).then(|| format!("{}, {}", row.get("path"), row.get("way")))
}

/// The curves of rows: what each belongs to, where it stands, and the column of its height.
fn curves(rows: &Rows, name: impl Fn(&Row) -> Option<String>, x: impl Fn(&Row) -> Option<f64>, y: &str) -> Vec<Curve> {
    let mut curves: Vec<Curve> = vec![];
    for row in rows.iter() {
        let (Some(name), Some(x), Some(y)) = (name(&row), x(&row), row.number(y)) else { continue };
        match curves.iter_mut().find(|(of, _)| *of == name) {
            Some((_, points)) => points.push((x, y)),
            None => curves.push((name, vec![(x, y)])),
        }
    }
    curves.retain(|(_, points)| points.len() > 1);
    curves.iter_mut().for_each(|(_, points)| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    curves
}

/// Labels along a picture at most.
const TICKS_MAX: usize = 12;

/// Where the axis is labelled: at what was measured, both ends among it. Where that is too much, at powers of ten between the ends.
fn ticks(measured: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = measured.collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let (Some(least), Some(most)) = (all.first().copied(), all.last().copied()) else { return all };
    // Labels of neighbours that are less than a fourteenth of the axis apart would be written on each other.
    let gap = (most / least).ln() / 14.0;
    if all.len() <= TICKS_MAX && all.windows(2).all(|pair| (pair[1] / pair[0]).ln() >= gap) {
        return all;
    }
    let powers = (0..20).map(|power| 10f64.powi(power));
    let apart = powers.filter(|power| (power / least).ln() >= gap && (most / power).ln() >= gap);
    [least].into_iter().chain(apart).chain([most]).collect()
}

fn count(number: &f64) -> String {
    match *number {
        number if number >= 1e6 => format!("{} M", number / 1e6),
        number if number >= 1e3 => format!("{} k", number / 1e3),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    /// Paths of a family and a shape are one curve, whatever the number; what is no such table is none.
    #[test]
    fn curves_follow_from_the_names_of_paths() {
        for (paths, curve) in [
            (["bridge", "bridge, 1 million stations"], Some("stations of a bridge")),
            (["ip4, 8 routes", "ip4, 2 million routes"], Some("routes, dense")),
            (["ip4, 8 routes, counted", "ip4, 2 million routes, counted"], Some("routes, dense, counted")),
            (["ip4, 10 thousand routes as in BGP", "ip4, 2 million routes as in BGP"], Some("routes as in BGP")),
            (["ip6, 200 thousand routes as in BGP", "ip6, 2 million routes as in BGP"], Some("IPv6 routes as in BGP")),
            (["ip6, 1 million hosts", "ip6, 2 million hosts"], Some("IPv6 hosts")),
            (["vlan, ip4, 8 routes", "cross-connect"], None),
            (["ip4, in one of 100 tables", "ip4, ECMP over 16 paths"], None),
        ] {
            assert_eq!(paths.map(super::table), [curve.map(str::to_owned), curve.map(str::to_owned)], "{paths:?}");
        }
    }

    /// The newest run that has all points, of one machine: not what others have of some of them.
    #[test]
    fn a_picture_is_of_one_run() {
        let file = super::Rows::of_text(
            "date,revision,name,x,y,cpu\n1,a,n,1,10,X\n1,a,n,2,20,X\n2,a,n,1,11,Y\n2,a,n,2,21,Y\n2,b,n,2,90,Y\n\
             2,a,n,1,12,Y\n3,a,n,1,70,X\n3,c,other,1,80,X",
        )
        .expect("a head");
        let plot = super::Plot::of(&file, &["name", "x"], |run| {
            super::curves(run, |row| Some(row.get("name").to_owned()), |row| row.number("x"), "y")
        });
        assert_eq!(plot.curves, [("n".to_owned(), vec![(1.0, 12.0), (2.0, 21.0)])]);
        assert_eq!(plot.run, "a, 2, Y");
    }

    #[test]
    fn both_ends_of_an_axis_are_labelled() {
        let ticks = |all: &[f64]| super::ticks(all.iter().copied());
        assert_eq!(ticks(&[2.0, 1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(ticks(&[1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ticks(&[64.0, 65.0, 1500.0]), [64.0, 100.0, 1000.0, 1500.0], "64 and 65 are too near to each other");
        let many: Vec<_> = (1..=30).map(f64::from).collect();
        assert_eq!(ticks(&many), [1.0, 10.0, 30.0]);
    }

    /// The text of a picture whose axis has no power of ten except its beginning.
    #[test]
    fn a_picture_of_two_workers_says_one_and_two() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("workers.svg");
        let curves = vec![("ip4".to_owned(), vec![(1.0, 10.0), (2.0, 19.0)])];
        let plot = super::Plot { curves, run: "a revision of today".to_owned() };
        plot.draw(&path, "millions").expect("it can be drawn");
        let svg = std::fs::read_to_string(&path).expect("it was drawn");
        let said = |text: &str| svg.lines().any(|line| line == text);
        assert!(said("1") && said("2") && said("a revision of today"), "{svg}");
    }

    #[test]
    fn entries_follow_from_the_names_of_paths() {
        let names = ["bridge", "bridge, 10 thousand stations", "ip4, 8 routes", "ip4, 2 million routes, counted", "x"];
        let expected = [Some(2.0), Some(1e4), Some(8.0), Some(2e6), None];
        assert_eq!(names.map(super::entries), expected);
    }
}

//! The rows as curves over load, in an SVG file.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{LATENCY_GOAL, LOADS, MILLION_GOAL, Row};
use crate::machine::Machine;

/// Pixels.
const SIZE: (u32, u32) = (760, 640);
const FONT: &str = "sans-serif";

/// A curve: its name, its colour, and its value at a row.
type Curve = (&'static str, RGBColor, fn(&Row) -> f64);

/// A frame of the picture: its title, the goal, and the curves.
type Panel<'p> = (&'static str, f64, &'p [Curve]);

const CPU: Panel = (
    "CPU time, % of a core",
    MILLION_GOAL,
    &[("all threads", RGBColor(31, 95, 168), Row::cpu), ("worker", RGBColor(110, 170, 220), |row| row.worker)],
);
const LATENCY: Panel = (
    "added latency, microseconds",
    LATENCY_GOAL,
    &[("P99", RGBColor(179, 52, 31), |row| row.added(0.99)), ("P50", RGBColor(217, 154, 43), |row| row.added(0.5))],
);

/// Draws CPU time above, and added latency below.
pub fn draw(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), String> {
    panels(path, machine, rows).map_err(|error| format!("{}: {error}", path.display()))
}

fn panels(path: &Path, machine: &Machine, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let idle = rows.iter().find(|row| row.load == 0).map_or(0.0, Row::cpu);
    let Machine { cpu, date, .. } = machine;
    let title = format!("quiverd, one adaptive worker, IPv4 between two memif; {cpu}, {date}; idle: {idle:.2} %");
    let root = root.titled(&title, (FONT, 15))?;
    for (area, panel) in root.split_evenly((2, 1)).iter().zip([CPU, LATENCY]) {
        draw_panel(area, panel, rows)?;
    }
    Ok(root.present()?)
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    (title, goal, curves): Panel,
    rows: &[Row],
) -> Result<(), Box<dyn Error>> {
    let (first, last) = (LOADS[0] as f64, LOADS[LOADS.len() - 1] as f64);
    let points = |value: fn(&Row) -> f64| {
        let rows = rows.iter().filter(|row| row.load > 0);
        rows.map(move |row| (row.load as f64, value(row))).collect::<Vec<_>>()
    };
    let most = curves.iter().flat_map(|(.., value)| points(*value)).map(|(_, y)| y).fold(goal, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(title, (FONT, 13))
        .x_label_area_size(36)
        .y_label_area_size(46)
        .build_cartesian_2d((first..last).log_scale(), 0.0..most * 1.1)?;
    let count = |load: &f64| match *load as u64 {
        load if load >= 1_000_000 => format!("{} M", load / 1_000_000),
        load => format!("{} k", load / 1000),
    };
    chart.configure_mesh().x_labels(5).x_label_formatter(&count).max_light_lines(0).draw()?;
    let goal_line = DashedLineSeries::new([(first, goal), (last, goal)], 6, 4, BLACK.into());
    chart.draw_series(goal_line)?.label("goal").legend(|at| line(at, BLACK));
    for (name, color, value) in curves {
        let series = LineSeries::new(points(*value), color.stroke_width(2));
        chart.draw_series(series)?.label(*name).legend(|at| line(at, *color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperMiddle)
        .background_style(WHITE.mix(0.7))
        .draw()?;
    Ok(())
}

/// The piece of a curve beside its name.
fn line((x, y): (i32, i32), color: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2))
}

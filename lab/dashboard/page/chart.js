// A chart: uPlot draws axes and zooms; points, lines and marks are drawn here, with shapes. Pointer and keyboard go from
// point to point.

const { element } = quiver;

/** As far from a point the pointer finds it, in pixels. */
const REACH = 40;

/** Charts of the page, for whoever reads them: `points` is what is drawn, `place` where. */
quiver.charts = [];

/**
 * options: { label, unit, isTime, xLabel, xLog, series, height, pick }
 * series: [{ number, label, points: [{ x, y, text, ... }], lines: [{ points: [[x, y], ...] }],
 *           marks: [{ x, y, kind: "up" | "down" | "outlier" }], isLine }]
 * `text` of a point is a list of lines; `pick(point)` hears clicks and Enter.
 */
quiver.chart = options => {
  const all = options.series.flatMap((series, at) => series.points.map((point, index) => ({ ...point, series: at, index })));
  const box = element("div", {
    class: "chart", tabindex: "0", role: "group",
    "aria-label": `${options.label}. Arrow keys go from point to point, Enter shows one.`,
  });
  const [plot, tip] = [element("div", { class: "plot" }), element("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true })];
  box.append(plot, tip);
  if (all.length === 0) {
    box.append(element("p", { class: "empty" }, "No samples."));
    return box;
  }
  let found = null;
  const xs = [...new Set([...all.map(point => point.x), ...options.series.flatMap(lineXs)])].sort((one, other) => one - other);
  const column = options.series.map(series => {
    const values = new Map(series.points.map(point => [point.x, point.y]));
    return xs.map(x => values.get(x) ?? null);
  });
  const draw = chart => options.series.forEach((series, at) => drawSeries(chart, series, found?.series === at ? found : null));
  const chart = new uPlot({
    width: 600, height: options.height || 360,
    ms: 1e-3,
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { points: { show: false }, y: false, drag: { x: true, y: false } },
    scales: {
      x: options.xLog ? { time: false, distr: 3 } : { time: options.isTime === true, range: room },
      y: { range: (_, low, high) => span(low, high, options.fromZero) },
    },
    series: [{}, ...column.map(() => ({ paths: () => null, points: { show: false } }))],
    axes: [axis({ label: options.xLabel, values: options.xValues || (options.isTime ? dates : undefined), space: options.isTime ? 90 : 60 }), axis({ label: options.unit, size: 64 })],
    hooks: { draw: [draw] },
  }, [xs, ...column], plot);

  const place = point => ({ left: chart.valToPos(point.x, "x"), top: chart.valToPos(point.y, "y") });
  const show = point => {
    found = point;
    tip.hidden = !point;
    if (point) {
      tip.replaceChildren(...point.text.map(line => element("div", {}, line)));
      const [{ left, top }, over] = [place(point), chart.over];
      const right = left > over.clientWidth / 2;
      tip.style.left = right ? "" : `${over.offsetLeft + left + 14}px`;
      tip.style.right = right ? `${box.clientWidth - over.offsetLeft - left + 14}px` : "";
      tip.style.top = `${Math.max(0, over.offsetTop + top - tip.offsetHeight / 2)}px`;
    }
    chart.redraw(false);
  };
  const nearest = (left, top) => {
    let [best, least] = [null, REACH * REACH];
    for (const point of all) {
      const at = place(point);
      const distance = (at.left - left) ** 2 + (at.top - top) ** 2;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };
  const at = event => {
    const over = chart.over.getBoundingClientRect();
    return nearest(event.clientX - over.left, event.clientY - over.top);
  };
  chart.over.addEventListener("pointermove", event => { const point = at(event); if (point !== found) show(point); });
  chart.over.addEventListener("pointerleave", () => show(null));
  chart.over.addEventListener("click", event => { const point = at(event); if (point && options.pick) options.pick(point); });
  box.addEventListener("keydown", event => {
    const own = found ? all.filter(point => point.series === found.series) : all;
    const here = found ? own.findIndex(point => point.index === found.index) : -1;
    const others = [...new Set(all.map(point => point.series))];
    const other = step => {
      const next = others[(others.indexOf(found ? found.series : others[0]) + step + others.length) % others.length];
      const points = all.filter(point => point.series === next);
      return found ? points.reduce((best, point) => (Math.abs(point.x - found.x) < Math.abs(best.x - found.x) ? point : best)) : points[0];
    };
    const moves = {
      ArrowRight: () => own[Math.min(here + 1, own.length - 1)], ArrowLeft: () => own[Math.max(here - 1, 0)],
      Home: () => own[0], End: () => own[own.length - 1], ArrowDown: () => other(1), ArrowUp: () => other(-1), Escape: () => null,
    };
    if (event.key === "Enter" && found && options.pick) options.pick(found);
    else if (moves[event.key]) show(moves[event.key]());
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", () => show(null));

  const resize = () => chart.setSize({ width: Math.max(200, box.clientWidth), height: options.height || 360 });
  new ResizeObserver(resize).observe(box);
  const repaint = () => chart.redraw(false, true);
  addEventListener("quiver-theme", repaint);
  const own = { box, label: options.label, points: all, place: point => {
    const [{ left, top }, over] = [place(point), chart.over.getBoundingClientRect()];
    return { left: over.left + left, top: over.top + top };
  }, tip };
  quiver.charts.push(own);
  return box;
};

const lineXs = series => (series.lines || []).flatMap(line => line.points.map(([x]) => x));

/** Days, or hours where they are so close. */
const dates = (_, seconds, axis, space, step) => seconds.map(own => {
  const date = quiver.date(own * 1e6);
  return step < 86400 ? date.slice(5) : date.slice(0, 10);
});

/** Some room at both ends, so that no point is cut. */
const room = (_, low, high) => {
  const edge = (high - low || 3600) * 0.03;
  return [low - edge, high + edge];
};

const span = (low, high, fromZero) => {
  if (low === null) return [0, 1];
  const edge = (high - low || Math.abs(high) * 0.02 || 1) * 0.08;
  return [fromZero && low >= 0 ? 0 : low - edge, high + edge];
};

const axis = more => ({
  stroke: () => quiver.color("--text"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 22,
  grid: { stroke: () => quiver.color("--grid"), width: 1 }, ticks: { stroke: () => quiver.color("--grid"), width: 1 },
  ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
});

const drawSeries = (chart, series, found) => {
  const [context, ratio, mark] = [chart.ctx, uPlot.pxRatio, quiver.mark(series.number)];
  const [left, top] = [x => chart.valToPos(x, "x", true), y => chart.valToPos(y, "y", true)];
  const { left: x0, top: y0, width, height } = chart.bbox;
  context.save();
  context.beginPath(); context.rect(x0, y0, width, height); context.clip();
  context.strokeStyle = context.fillStyle = quiver.color(mark.color);
  context.lineWidth = 2 * ratio;
  context.setLineDash(mark.dash.map(length => length * ratio));
  const lines = [...(series.lines || []).map(line => line.points)];
  if (series.isLine) lines.push(series.points.map(point => [point.x, point.y]));
  for (const line of lines) {
    context.beginPath();
    line.forEach(([x, y], at) => (at ? context.lineTo(left(x), top(y)) : context.moveTo(left(x), top(y))));
    context.stroke();
  }
  context.setLineDash([]);
  const size = (series.points.length > 400 ? 2.5 : 3.5) * ratio;
  if (!series.isLine || series.points.length <= 60) {
    const path = new Path2D();
    series.points.forEach(point => mark.shape(path, left(point.x), top(point.y), size));
    context.globalAlpha = 0.75;
    context.lineWidth = 1.5 * ratio;
    if (mark.isOpen) context.stroke(path); else context.fill(path);
    context.globalAlpha = 1;
  }
  context.strokeStyle = context.fillStyle = quiver.color("--text");
  context.lineWidth = 2 * ratio;
  for (const { x, y, kind } of series.marks || []) {
    const [at, height, path] = [left(x), top(y), new Path2D()];
    if (kind === "outlier") {
      path.moveTo(at - 6 * ratio, height - 6 * ratio); path.lineTo(at + 6 * ratio, height + 6 * ratio);
      path.moveTo(at + 6 * ratio, height - 6 * ratio); path.lineTo(at - 6 * ratio, height + 6 * ratio);
      context.stroke(path);
    } else {
      // An arrow that points the way: better is filled green and up, worse is red and down.
      const way = kind === "up" ? -1 : 1;
      const tipAt = height + way * 20 * ratio;
      path.moveTo(at, tipAt); path.lineTo(at - 7 * ratio, tipAt - way * 11 * ratio); path.lineTo(at + 7 * ratio, tipAt - way * 11 * ratio);
      path.closePath();
      context.fillStyle = quiver.color(kind === "up" ? "--better" : "--worse");
      context.fill(path);
      context.lineWidth = ratio;
      context.stroke(path);
      context.lineWidth = 2 * ratio;
    }
  }
  if (found) {
    const path = new Path2D();
    path.arc(left(found.x), top(found.y), 8 * ratio, 0, 2 * Math.PI);
    context.stroke(path);
  }
  context.restore();
};

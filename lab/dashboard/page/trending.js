// Trending: samples of chosen cases over time, with trend, change points and anomalies.

const { element } = quiver;

const RANGES = [["", "All"], ["200", "200 days"], ["30", "30 days"], ["7", "7 days"]];
const METHODS = [["", "Steps by ranks (quiver-verdict)"], ["jumpavg", "Groups of jumpavg (CSIT)"], ["none", "None"]];
const DAY = 86400e6;
/** Cases of one chart: so many shapes there are. */
const CASES_MAX = 8;

quiver.views = { trending: { title: "Trending", render } };

async function render(root, query) {
  const index = await quiver.loadIndex();
  let chosen = [...new Set(query.getAll("case"))].map(id => index.byId.get(id)).filter(Boolean).slice(0, CASES_MAX);
  if (!chosen.length && index.all.length) chosen = [index.all.reduce((best, series) => (series.count > best.count ? series : best))];
  const settings = {
    case: chosen.map(series => series.id), figure: query.get("figure"), range: query.get("range"),
    trend: query.get("trend"), normalize: query.get("normalize") === "1", failed: query.get("failed") === "1",
  };
  const change = (more, isTyping) => quiver.go("trending", { ...settings, ...more }, isTyping);
  const numbers = new Set(chosen.flatMap(series => series.figures));
  const figures = index.figures.filter(figure => numbers.has(figure.number) && figure.group !== "bound");
  const figure = quiver.chosenFigure(figures, query);
  const chips = element("ul", { class: "chips" }, chosen.map((series, at) => element("li", {},
    quiver.legendMark(at), quiver.caseLink(series, quiver.seriesName(series)),
    chosen.length > 1 ? element("button", { type: "button", "aria-label": `Remove ${quiver.seriesName(series)}`,
      onclick: () => change({ case: settings.case.filter(id => id !== series.id) }) }, "×") : null)));
  const picker = chosen.length < CASES_MAX
    ? quiver.casePicker(index, chosen, series => change({ case: [...settings.case, series.id] }))
    : element("p", { class: "note" }, `${CASES_MAX} cases are the most of one chart.`);
  root.append(element("div", { class: "controls" }, picker), chips);
  if (!figure) {
    root.append(element("p", { class: "empty" }, index.all.length ? "No test of this case has passed." : "There are no results yet: quiver lab run measures some."));
    return;
  }
  root.append(element("div", { class: "controls" },
    quiver.figureChoice(figures, figure, own => change({ figure: own.title })),
    quiver.select("Time", RANGES, settings.range || "", range => change({ range })),
    quiver.select("Trend", METHODS, settings.trend || "", trend => change({ trend })),
    quiver.check("Normalize to 2 GHz", settings.normalize, normalize => change({ normalize }))));

  const files = await Promise.all(chosen.map(quiver.loadCase));
  const built = build(index, chosen, files, figure, settings);
  for (const note of built.notes) root.append(element("p", { class: "note" }, note));
  const details = element("div", { class: "details", "aria-live": "polite" });
  root.append(quiver.chart({
    label: `${figure.name} over time`, unit: built.unit, isTime: true, series: built.series,
    pick: point => details.replaceChildren(describe(index, point, figure)),
  }), legend(), details);
  root.append(quiver.table({
    label: "Changes and anomalies", name: "changes", rows: built.changes, sort: "time", descending: true,
    empty: "Neither changes nor anomalies in this time.",
    columns: [
      { name: "case", title: "Case", value: row => quiver.seriesName(row.series), show: row => quiver.caseLink(row.series, quiver.seriesName(row.series)) },
      { name: "time", title: "Time", value: row => quiver.moment(row.time), show: row => quiver.date(row.time) },
      { name: "kind", title: "Kind", value: row => row.kind, show: row => `${{ regression: "▼ ", progression: "▲ ", anomaly: "✕ " }[row.kind]}${row.kind}` },
      { name: "before", title: "Before", isNumber: true, value: row => row.before, show: row => quiver.amount(row.before, figure.unit) },
      { name: "after", title: "After", isNumber: true, value: row => row.after, show: row => quiver.amount(row.after, figure.unit) },
      { name: "change", title: "Change", isNumber: true, value: row => row.after / row.before - 1, show: row => quiver.percent(row.after / row.before - 1) },
      { name: "revision", title: "Revision", value: row => index.revisions[row.revision] },
    ],
  }), quiver.table({
    label: "Samples", name: "samples", rows: built.samples, sort: "time", descending: true,
    columns: [
      { name: "case", title: "Case", value: row => quiver.seriesName(row.series) },
      { name: "time", title: "Time", value: row => quiver.moment(row.row.time),
        show: row => element("a", { href: quiver.link("case", { id: row.series.id, document: row.row.at }) }, quiver.date(row.row.time)) },
      { name: "value", title: figure.title + (settings.normalize ? ", at 2 GHz" : ""), isNumber: true, value: row => row.value, show: row => quiver.amount(row.value, figure.unit) },
      { name: "revision", title: "Revision", value: row => index.revisions[row.row.revision] },
      { name: "hosts", title: "Hosts", value: row => index.hosts[row.row.hosts] },
    ],
  }));
}

const legend = () => element("p", { class: "note" },
  "Lines are the trend. ▲ a progression, ▼ a regression, ✕ an anomaly. Drag to zoom, double-click to zoom out; click a point for its document.");

/** Samples, trends and marks of the chosen cases in the chart's unit. */
const build = (index, chosen, files, figure, settings) => {
  const newest = Math.max(...chosen.map(series => series.last));
  const since = settings.range ? newest - Number(settings.range) * DAY : -Infinity;
  const [notes, samples, changes, parts] = [[], [], [], []];
  chosen.forEach((series, number) => {
    let factor = settings.normalize ? quiver.factor(series, figure) : 1;
    if (factor === null) {
      notes.push(`${quiver.seriesName(series)}: no document tells its clock, so it is not normalized.`);
      factor = 1;
    }
    const all = files[number].samplesOf(figure.number).map(({ row, value }) => ({ series, number, row, value: value * factor }));
    const deviation = new Map(files[number].samplesOf(index.figures.findIndex(own => own.name === "MRR deviation")).map(({ row, value }) => [row.at, value * factor]));
    if (figure.name === "MRR") all.forEach(sample => { sample.deviation = deviation.get(sample.row.at); });
    const trend = files[number].trends[figure.number];
    const is = sample => sample.row.time >= since;
    const own = all.filter(is);
    if (!own.length) notes.push(`${quiver.seriesName(series)} has no sample of ${figure.name} in this time.`);
    const [lines, marks] = [[], []];
    const pieces = settings.trend === "none" || !trend ? [] : settings.trend === "jumpavg" ? trend.groups : trend.pieces;
    pieces.forEach(([start, end, first, last, direction], at) => {
      const [from, to] = [all[start], all[end - 1]];
      const next = all[end] || to;
      if (next.row.time < since) return;
      // A level holds until the next one begins.
      lines.push({ points: [[from.row.time / 1e6, first * factor], [(first === last ? next : to).row.time / 1e6, last * factor]] });
      const before = at ? pieces[at - 1][3] : first;
      if (direction === 0 || from.row.time < since || (at === 0 && first === last)) return;
      const after = at ? first : last;
      const isBetter = direction > 0;
      changes.push({ series, time: from.row.time, kind: isBetter ? "progression" : "regression", before: before * factor, after: after * factor, revision: from.row.revision });
      marks.push({ x: from.row.time / 1e6, y: first * factor, kind: isBetter ? "up" : "down" });
    });
    for (const place of settings.trend === "none" || settings.trend === "jumpavg" || !trend ? [] : trend.outliers) {
      const sample = all[place];
      if (!is(sample)) continue;
      const [, , first] = trend.pieces.find(([start, end]) => start <= place && place < end);
      changes.push({ series, time: sample.row.time, kind: "anomaly", before: first * factor, after: sample.value, revision: sample.row.revision });
      marks.push({ x: sample.row.time / 1e6, y: sample.value, kind: "outlier" });
    }
    samples.push(...own);
    parts.push({ number, label: quiver.seriesName(series), own, lines, marks });
  });
  const scale = quiver.scaled(figure.unit, Math.max(0, ...samples.map(({ value }) => value)));
  const down = y => y / scale.divisor;
  const series = parts.map(part => ({
    number: part.number, label: part.label,
    points: part.own.map(sample => ({
      x: sample.row.time / 1e6, y: down(sample.value), value: sample.value, sample,
      text: [part.label, `${figure.name}: ${quiver.amount(sample.value, figure.unit)}`,
        sample.deviation === undefined ? null : `deviation: ${quiver.amount(sample.deviation, figure.unit)}, ${quiver.count(sample.row.samples.length, "trial")}`,
        quiver.moment(sample.row.time), index.revisions[sample.row.revision], `on ${index.hosts[sample.row.hosts]}`].filter(line => line !== null),
    })),
    lines: part.lines.map(line => ({ points: line.points.map(([x, y]) => [x, down(y)]) })),
    marks: part.marks.map(mark => ({ ...mark, y: down(mark.y) })),
  }));
  return { series, samples, changes, notes, unit: `${scale.unit}${settings.normalize && figure.scale !== "none" ? " at 2 GHz" : ""}` };
};

/** A picked point, with links. */
const describe = (index, point, figure) => {
  const { series, row } = point.sample;
  return element("div", { class: "panel" },
    element("strong", {}, quiver.seriesName(series)),
    element("span", {}, `${figure.name}: ${quiver.amount(point.value, figure.unit)}`),
    element("span", {}, `${quiver.moment(row.time)}, took ${quiver.number(row.seconds)} s`),
    element("span", {}, `${index.revisions[row.revision]} on ${index.hosts[row.hosts]}`),
    row.samples?.length ? element("span", {}, `trials: ${row.samples.map(value => quiver.amount(value, figure.unit)).join(", ")}`) : null,
    element("a", { href: quiver.link("case", { id: series.id, document: row.at }) }, "Document of this test"));
};

// Comparisons: two revisions, machines or devices, case by case, with the difference and its interval.

const { element } = quiver;

const AXES = [["revision", "Revisions"], ["device", "Devices"], ["machine", "Machines"]];
const VERDICTS = [["", "all"], ["regression", "regressions"], ["progression", "progressions"], ["same", "same"], ["undecided", "undecided"]];

quiver.views.comparisons = { title: "Comparisons", render };

async function render(root, query) {
  const index = await quiver.loadIndex();
  const figures = index.figures.filter(figure => figure.group !== "bound");
  const figure = quiver.chosenFigure(figures, query);
  if (!figure) {
    root.append(element("p", { class: "empty" }, "There are no results to compare yet."));
    return;
  }
  const axis = AXES.some(([name]) => name === query.get("across")) ? query.get("across") : "revision";
  const choices = { revision: index.revisions, device: index.devices, machine: index.machines }[axis];
  const [a, b] = sides(choices, query);
  const settings = {
    across: axis, a, b, figure: figure.title, text: query.get("text"), device: query.get("device"), host: query.get("host"),
    verdict: query.get("verdict"), smallest: query.get("smallest"), normalize: query.get("normalize") === "1",
    sort: query.get("sort"), down: query.get("down"),
  };
  const change = (more, isTyping) => quiver.go("comparisons", { ...settings, ...more }, isTyping);
  const smallest = Number(settings.smallest) > 0 ? Number(settings.smallest) / 100 : 0.01;
  const show = name => (axis === "machine" ? index.all.find(series => series.machine === name)?.host || name : name);
  const options = choices.map(name => [name, show(name)]);
  root.append(
    element("div", { class: "controls" },
      quiver.tabs("Compare", AXES, axis, across => change({ across, a: null, b: null })),
      quiver.select("A", options, a, value => change({ a: value })),
      quiver.select("B, which is judged", options, b, value => change({ b: value }))),
    element("div", { class: "controls" }, quiver.figureChoice(figures, figure, own => change({ figure: own.title })),
      axis === "machine" ? quiver.check("Normalize to 2 GHz (without cases whose clock is not known)", settings.normalize, normalize => change({ normalize })) : null),
    element("div", { class: "controls" }, quiver.filters(index, query, change),
      quiver.select("Verdict", VERDICTS, settings.verdict || "", verdict => change({ verdict })),
      quiver.field("Smallest difference that matters, %", element("input", { type: "number", min: "0.1", max: "50", step: "0.1",
        value: String(smallest * 100), onchange: event => change({ smallest: event.target.value }) }))));
  const [file, ends] = await Promise.all([quiver.load(`figure-${figure.number}`), quiver.load("ends")]);
  const normalize = settings.normalize && axis === "machine";
  let rows = compare(index, file, ends, figure, { axis, a, b, smallest, normalize, series: new Set(quiver.filtered(index, query)) });
  if (settings.verdict) rows = rows.filter(row => row.verdict === settings.verdict);
  const counts = Object.entries(Object.groupBy(rows, row => row.verdict)).map(([verdict, own]) => `${own.length} ${verdict}`);
  root.append(element("p", { class: "note" }, `${counts.join(", ") || "No case was measured on both sides"}. Each interval holds at ${ends.confidence * 100} % confidence: `
    + `of ${quiver.count(rows.length, "row")}, about ${(rows.length * (1 - ends.confidence)).toFixed(1)} would be told apart by chance alone. `
    + `Of a side the newest ${ends.most} samples count. Outliers are more than three interquartile ranges off.`));
  root.append(quiver.table({
    label: `${figure.title}: B against A`, name: "comparison", rows, sort: settings.sort || "delta", descending: settings.down === "1",
    sorted: (sort, down) => history.replaceState(null, "", quiver.link("comparisons", { ...settings, sort, down })),
    empty: "No case was measured on both sides.", columns: columns(axis, figure),
  }));
}

/** Both sides that the address names; the two latest ones by default. */
const sides = (choices, query) => {
  const known = key => (choices.includes(query.get(key)) ? query.get(key) : null);
  return [known("a") ?? choices[Math.max(0, choices.length - 2)], known("b") ?? choices[choices.length - 1]];
};

const columns = (axis, figure) => {
  const amount = value => quiver.amount(value, figure.unit);
  const arrow = { regression: "▼ ", progression: "▲ ", same: "= ", undecided: "? " };
  return [
    { name: "test", title: "Case", value: row => row.test, show: row => quiver.caseLink(row.series, row.test) },
    axis === "device" ? null : { name: "device", title: "Device", value: row => row.series.device },
    axis === "machine" ? null : { name: "machine", title: "Machine", value: row => row.series.machine, show: row => quiver.machine(row.series) },
    { name: "a", title: "A", isNumber: true, value: row => row.medians[0], show: row => amount(row.medians[0]) },
    { name: "b", title: "B", isNumber: true, value: row => row.medians[1], show: row => amount(row.medians[1]) },
    { name: "samples", title: "Samples", isNumber: true, value: row => row.counts[0] + row.counts[1], show: row => `${row.counts[0]} + ${row.counts[1]}${row.isPaired ? " in turns" : ""}` },
    { name: "delta", title: "Difference", isNumber: true, value: row => row.delta, show: row => quiver.percent(row.delta) },
    { name: "low", title: "From", isNumber: true, value: row => row.low, show: row => quiver.percent(row.low) },
    { name: "high", title: "To", isNumber: true, value: row => row.high, show: row => quiver.percent(row.high) },
    { name: "outliers", title: "Outliers", isNumber: true, value: row => row.outliers },
    { name: "verdict", title: "Verdict", value: row => row.verdict, show: row => element("span", { class: row.verdict }, `${arrow[row.verdict] || ""}${row.why || row.verdict}`) },
    { name: "trend", title: "Trend", value: row => row.series.id, show: row => element("a", { href: quiver.link("trending", { case: row.ids, figure: figure.title }) }, "show") },
  ].filter(Boolean);
};

/** A row for each test that both sides have of the same device and machine, but for what they are compared across. */
const compare = (index, file, ends, figure, { axis, a, b, smallest, normalize, series: wanted }) => {
  const groups = new Map();
  const [numbers, times] = [quiver.sums(file.series), quiver.sums(file.time)];
  let start = 0;
  numbers.forEach((number, at) => {
    const [series, end] = [index.all[number], start + file.count[at]];
    // Null where the clock is not known: such a series is not compared.
    const factor = normalize ? quiver.factor(series, figure) : 1;
    if (wanted.has(series) && factor !== null) {
      const key = [series.test, axis === "device" ? "" : series.device, axis === "machine" ? "" : series.machine].join("\n");
      for (let place = start; place < end; place++) {
        const own = { revision: index.revisions[file.revision[place]], device: series.device, machine: series.machine }[axis];
        for (const side of [0, 1]) {
          if (own !== (side ? b : a)) continue;
          if (!groups.has(key)) groups.set(key, { series, ids: new Set(), sides: [[], []] });
          const group = groups.get(key);
          if (side === 1) group.series = series;
          group.ids.add(series.id);
          group.sides[side].push({ time: times[place], value: file.value[place] * factor });
        }
      }
    }
    start = end;
  });
  const rows = [];
  for (const { series, ids, sides } of groups.values()) {
    if (!sides[0].length || !sides[1].length) continue;
    sides.forEach(side => side.sort((one, other) => one.time - other.time));
    const values = sides.map(side => side.map(({ value }) => value));
    const ratio = quiver.ratio(...sides, ends);
    const has = ratio.why === undefined;
    rows.push({
      series, test: series.test, ids: [...ids], medians: values.map(quiver.median), counts: values.map(own => own.length),
      isPaired: ratio.isPaired === true, why: ratio.why, verdict: has ? quiver.verdict(ratio, figure.cost, smallest) : "undecided",
      delta: has ? ratio.estimate - 1 : null, low: has && ratio.high !== Infinity ? ratio.low - 1 : null, high: has && ratio.high !== Infinity ? ratio.high - 1 : null,
      outliers: values.reduce((sum, own) => sum + quiver.outliers(own), 0),
    });
  }
  return rows;
};

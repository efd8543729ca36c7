// Coverage: the latest result of each case.

const { element } = quiver;

const PARTS = [["throughput", "Throughput"], ["forward", "Latency forward"], ["reverse", "Latency reverse"]];
const RATES = ["NDR", "PDR", "MRR"];

quiver.views.coverage = { title: "Coverage", render };

async function render(root, query) {
  const [index, latest] = await Promise.all([quiver.loadIndex(), quiver.load("latest")]);
  const part = PARTS.some(([name]) => name === query.get("part")) ? query.get("part") : "throughput";
  const settings = {
    part, text: query.get("text"), device: query.get("device"), host: query.get("host"), normalize: query.get("normalize") === "1",
    sort: query.get("sort"), down: query.get("down"),
  };
  const change = (more, isTyping) => quiver.go("coverage", { ...settings, ...more }, isTyping);
  root.append(element("div", { class: "controls" },
    quiver.tabs("Part", PARTS, part, own => change({ part: own })), quiver.filters(index, query, change),
    quiver.check("Normalize to 2 GHz", settings.normalize, normalize => change({ normalize }))));
  const figures = index.figures.filter(figure => (part === "throughput"
    ? RATES.some(name => figure.name === name || figure.name === `${name} bandwidth`)
    : figure.group === "latency" && figure.name.endsWith(part)));
  const rank = figure => (part === "throughput"
    ? RATES.indexOf(figure.name.split(" ")[0]) * 2 + Number(figure.group === "bandwidth")
    : Number(figure.name.match(/at (\d+)/)[1]) * 100 + Number(figure.name.match(/^P(\d+)/)[1]));
  figures.sort((one, other) => rank(one) - rank(other) || one.unit.localeCompare(other.unit));
  const wanted = new Set(quiver.filtered(index, query));
  const rows = latest.series.map((number, at) => ({ at, series: index.all[number], time: latest.time[at], revision: latest.revision[at] }))
    .filter(row => wanted.has(row.series) && figures.some(figure => latest.values[figure.number]?.[row.at] != null));
  const value = (row, figure) => {
    const own = latest.values[figure.number]?.[row.at];
    if (own === null || own === undefined) return null;
    const factor = settings.normalize ? quiver.factor(row.series, figure) : 1;
    return factor === null ? null : own * factor;
  };
  const unknown = settings.normalize ? rows.filter(row => !row.series.clock).length : 0;
  if (unknown) root.append(element("p", { class: "note" }, `The clock of ${quiver.count(unknown, "case")} is not known: without values here.`));
  root.append(quiver.table({
    label: part === "throughput" ? "Latest throughput, both directions together" : `Latest latency, ${part}`, name: `coverage-${part}`,
    rows, sort: settings.sort || "test", descending: settings.down === "1",
    sorted: (sort, down) => history.replaceState(null, "", quiver.link("coverage", { ...settings, sort, down })),
    empty: "No case has such results.",
    columns: [
      { name: "test", title: "Case", value: row => row.series.test, show: row => quiver.caseLink(row.series) },
      { name: "device", title: "Device", value: row => row.series.device },
      { name: "machine", title: "Machine", value: row => row.series.machine, show: row => quiver.machine(row.series) },
      ...figures.map(figure => column(figure, value)),
      { name: "time", title: "Time", value: row => quiver.moment(row.time), show: row => quiver.date(row.time) },
      { name: "revision", title: "Revision", value: row => index.revisions[row.revision] },
    ],
  }));
}

/** NDR and PDR in Mpps, bandwidth in Gbps, delays in microseconds. */
const column = (figure, value) => {
  const [divisor, unit] = { pps: [1e6, "Mpps"], bps: [1e9, "Gbps"], us: [1, "µs"] }[figure.unit] || [1, figure.unit];
  const own = row => (value(row, figure) === null ? null : value(row, figure) / divisor);
  const name = figure.name.replace(" bandwidth", "").replace(/ PDR (forward|reverse)$/, " PDR");
  return { name: figure.title, title: `${name}, ${unit}`, isNumber: true, value: own, show: row => quiver.number(own(row)) };
};

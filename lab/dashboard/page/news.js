// News: tests that failed, and cases that became slower or faster, in the last 1, 7 or 200 days.

const { element } = quiver;

const WINDOWS = [["1", "1 day"], ["7", "7 days"], ["200", "200 days"]];
const DAY = 86400e6;

quiver.views.news = { title: "News", render };

async function render(root, query) {
  const [index, news] = await Promise.all([quiver.loadIndex(), quiver.load("news")]);
  const days = WINDOWS.some(([value]) => value === query.get("days")) ? query.get("days") : "7";
  const settings = { days, text: query.get("text"), device: query.get("device"), host: query.get("host") };
  const change = (more, isTyping) => quiver.go("news", { ...settings, ...more }, isTyping);
  root.append(element("div", { class: "controls" },
    quiver.tabs("Time", WINDOWS, days, own => change({ days: own })), quiver.filters(index, query, change)));
  const since = news.now - Number(days) * DAY;
  const wanted = new Set(quiver.filtered(index, query));
  const rows = columns => columns.time.map((time, at) => ({
    ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]])), series: index.all[columns.series[at]],
  })).filter(row => row.time >= since && wanted.has(row.series));
  const [changes, failures] = [rows(news.changes), rows(news.failures)];
  root.append(element("p", { class: "note" }, `The ${days === "1" ? "day" : `${days} days`} until the newest result, of ${quiver.date(news.now)} UTC. A change has the time of the first sample behind it. Bandwidths change as their rates do and are left out.`));
  const regressions = changes.filter(row => row.direction < 0);
  const progressions = changes.filter(row => row.direction > 0);
  root.append(
    element("p", { class: "sums" }, [[regressions, "▼ ", "regression"], [progressions, "▲ ", "progression"], [failures, "✕ ", "failure"]]
      .map(([own, sign, word]) => element("span", { class: `sum ${word}` }, `${sign}${quiver.count(own.length, word)}`))),
    table(index, "Regressions", regressions), table(index, "Progressions", progressions),
    quiver.table({
      label: "Failed tests", name: "failures", rows: failures, sort: "time", descending: true, empty: "No test failed.",
      columns: [...common(index), { name: "message", title: "Reason", value: row => row.message }],
    }));
}

const common = index => [
  { name: "test", title: "Case", value: row => row.series.test, show: row => quiver.caseLink(row.series) },
  { name: "device", title: "Device", value: row => row.series.device },
  { name: "machine", title: "Machine", value: row => row.series.machine, show: row => quiver.machine(row.series) },
  { name: "time", title: "Time", value: row => quiver.moment(row.time), show: row => quiver.date(row.time) },
  { name: "revision", title: "Revision", value: row => index.revisions[row.revision] },
];

const table = (index, label, rows) => {
  const figure = row => index.figures[row.figure];
  return quiver.table({
    label, name: label.toLowerCase(), rows, sort: "time", descending: true, empty: "None.",
    columns: [
      ...common(index),
      { name: "figure", title: "Figure", value: row => figure(row).title, show: row => figure(row).name },
      { name: "before", title: "Before", isNumber: true, value: row => row.before, show: row => quiver.amount(row.before, figure(row).unit) },
      { name: "after", title: "After", isNumber: true, value: row => row.after, show: row => quiver.amount(row.after, figure(row).unit) },
      { name: "change", title: "Change", isNumber: true, value: row => row.after / row.before - 1, show: row => quiver.percent(row.after / row.before - 1) },
      { name: "trend", title: "Trend", value: row => row.series.id,
        show: row => element("a", { href: quiver.link("trending", { case: row.series.id, figure: figure(row).title }) }, "show") },
    ],
  });
};

// Search: all cases, measured or only listed in the suites, by words of their names, devices, machines and tags.

const { element } = quiver;

quiver.views.search = { title: "Search", render };

async function render(root, query) {
  const [index, listed] = await Promise.all([quiver.loadIndex(), quiver.load("listed")]);
  const words = query.get("text") || "";
  const which = query.get("which") || "";
  const settings = { text: words, which };
  const change = (more, isTyping) => quiver.go("search", { ...settings, ...more }, isTyping);
  root.append(element("div", { class: "controls" },
    quiver.text("Words of names, devices, machines, tags", words, text => change({ text }, true), { autofocus: true }),
    quiver.select("Cases", [["", "all"], ["measured", "measured"], ["failed", "with failed tests"], ["listed", "not measured yet"]], which, own => change({ which: own }))));
  const rows = index.all.map(series => ({
    series, test: series.test, device: series.device, machine: series.machine, kind: series.kind, count: series.count,
    failed: series.failed, last: series.last, tags: series.tags.join(" "),
  }));
  const measured = new Set(rows.map(row => `${row.test}\n${row.device}`));
  listed.test.forEach((test, at) => {
    if (measured.has(`${test}\n${listed.device[at]}`)) return;
    rows.push({ test, device: listed.device[at], machine: null, kind: null, count: 0, failed: 0, last: null, tags: listed.tags[at] });
  });
  const is = { "": () => true, measured: row => row.count > 0, failed: row => row.failed > 0, listed: row => row.count === 0 }[which] || (() => true);
  const found = rows.filter(row => is(row) && (!words || quiver.hasWords(words, `${row.test} ${row.device} ${row.machine || ""} ${row.tags}`)));
  root.append(quiver.table({
    label: "Cases", name: "cases", rows: found, sort: "test", empty: "No case has all of these words.",
    columns: [
      { name: "test", title: "Case", value: row => row.test, show: row => (row.series ? quiver.caseLink(row.series) : row.test) },
      { name: "device", title: "Device", value: row => row.device },
      { name: "machine", title: "Machine", value: row => row.machine, show: row => (row.series ? quiver.machine(row.series) : "not measured yet") },
      { name: "kind", title: "Type", value: row => row.kind },
      { name: "count", title: "Tests", isNumber: true, value: row => row.count },
      { name: "failed", title: "Failed", isNumber: true, value: row => row.failed },
      { name: "last", title: "Last", value: row => (row.last === null ? null : quiver.moment(row.last)), show: row => (row.last === null ? "–" : quiver.date(row.last)) },
      { name: "tags", title: "Tags", value: row => row.tags },
    ],
  }));
}

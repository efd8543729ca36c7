// The page of a case: its results over time, and one document with all that is in it.

const { element } = quiver;

quiver.views.case = { title: "Case", isHidden: true, render };

async function render(root, query) {
  const index = await quiver.loadIndex();
  const series = index.byId.get(query.get("id"));
  if (!series) {
    root.append(element("p", { class: "empty" }, "No results of this case are here: ", element("a", { href: quiver.link("search") }, "search all cases"), "."));
    return;
  }
  const file = await quiver.loadCase(series);
  const number = query.get("document") === null ? file.rows.length - 1 : Number(query.get("document"));
  const row = file.rows[number] || file.rows[file.rows.length - 1];
  root.append(element("h2", {}, series.test), quiver.facts([
    ["Device", series.device], ["Machine", series.machine], ["Type", series.kind],
    ["Tests", `${series.count}, of which ${series.failed} failed`],
    ["Clock", series.clock ? `${quiver.number(series.clock / 1e9)} GHz` : "not known"], ["Tags", series.tags.join(" ")],
  ]));
  const figures = index.figures.filter(figure => series.figures.includes(figure.number) && figure.group !== "bound");
  root.append(element("p", { class: "links" }, figures.filter(figure => figure.group !== "latency").map(figure =>
    element("a", { href: quiver.link("trending", { case: series.id, figure: figure.title }) }, `Trend of ${figure.name}`))));
  const first = figures.filter(figure => figure.group === "throughput" || figure.group === "energy").slice(0, 3);
  const shown = first.length ? first : figures.slice(0, 3);
  const columns = shown.map(figure => {
    const values = new Map(file.samplesOf(figure.number).map(({ row: own, value }) => [own.at, value]));
    return { name: figure.title, title: figure.title, isNumber: true, value: own => values.get(own.at) ?? null, show: own => quiver.amount(values.get(own.at), figure.unit) };
  });
  const holder = element("div", {}, element("p", {}, "Loading the document."));
  root.append(quiver.table({
    label: "Tests", name: series.test, rows: file.rows, sort: "time", descending: true, part: 10,
    columns: [
      { name: "time", title: "Time", value: own => quiver.moment(own.time), show: own => element("a", {
        href: quiver.link("case", { id: series.id, document: own.at }), "aria-current": own.at === row.at ? "true" : null }, quiver.date(own.time)) },
      { name: "revision", title: "Revision", value: own => index.revisions[own.revision] },
      { name: "hosts", title: "Hosts", value: own => index.hosts[own.hosts] },
      ...columns,
      { name: "message", title: "Result", value: own => own.message || "passed", show: own => (own.message ? `✕ ${own.message}` : "passed") },
    ],
  }), holder);
  holder.replaceChildren(await quiver.showDocument(await quiver.loadDocument(row)));
}

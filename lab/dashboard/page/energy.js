// Energy: what a million packets take, and what a packet costs, of each case.

const { element } = quiver;

quiver.views.energy = { title: "Energy", render };

async function render(root, query) {
  const [index, latest] = await Promise.all([quiver.loadIndex(), quiver.load("latest")]);
  const settings = { text: query.get("text"), device: query.get("device"), host: query.get("host") };
  const change = (more, isTyping) => quiver.go("energy", { ...settings, ...more }, isTyping);
  root.append(element("div", { class: "controls" }, quiver.filters(index, query, change)));
  root.append(element("p", { class: "note" }, "The median over a test's trials. Joules are those of the machine's sensors, with all that ran there; without a sensor there is the device's CPU time instead. Both are never compared with each other."));
  const wanted = new Set(quiver.filtered(index, query));
  let isEmpty = true;
  for (const figure of ["energy", "cost"].flatMap(group => index.figures.filter(own => own.group === group))) {
    const values = latest.values[figure.number] || [];
    const rows = latest.series.map((number, at) => ({ series: index.all[number], value: values[at], time: latest.time[at], revision: latest.revision[at] }))
      .filter(row => row.value !== null && row.value !== undefined && wanted.has(row.series));
    const most = Math.max(...rows.map(row => row.value));
    if (!rows.length) continue;
    isEmpty = false;
    root.append(quiver.table({
      label: `${figure.title}`, name: "energy", rows, sort: "value", descending: true,
      columns: [
        { name: "test", title: "Case", value: row => row.series.test, show: row => quiver.caseLink(row.series) },
        { name: "device", title: "Device", value: row => row.series.device },
        { name: "machine", title: "Machine", value: row => row.series.machine, show: row => quiver.machine(row.series) },
        { name: "value", title: figure.title, isNumber: true, value: row => row.value, show: row => bar(row.value, most, quiver.amount(row.value, figure.unit)) },
        { name: "time", title: "Time", value: row => quiver.moment(row.time), show: row => quiver.date(row.time) },
        { name: "revision", title: "Revision", value: row => index.revisions[row.revision] },
        { name: "trend", title: "Trend", value: row => row.series.id,
          show: row => element("a", { href: quiver.link("trending", { case: row.series.id, figure: figure.title }) }, "show") },
      ],
    }));
  }
  if (isEmpty) root.append(element("p", { class: "empty" }, "No result has energy or a cost of packets."));
}

const bar = (value, most, text) => {
  const own = element("span", { class: "measure" }, text);
  own.style.setProperty("--share", most > 0 ? value / most : 0);
  return own;
};

// A running quiverd: its graph, rates of arcs and interfaces, drops by reason, and the load of workers.

const { element } = quiver;

/** Time between two looks, and how long the past is shown, in seconds. */
const EVERY = 0.5;
const PAST = 60;

const content = document.getElementById("content");
const [graph, state] = [element("img", { alt: "The graph: its arcs are in the table below." }), document.querySelector("nav")];
const parts = Object.fromEntries(["chart", "interfaces", "drops", "workers", "arcs"].map(name => [name, element("div")]));
const past = [];
let before = null;
let sorts = {};

/** A counter's rate a second; a daemon that was started again counts from zero. */
const rate = (now, then, seconds) => (then === undefined || now < then || seconds <= 0 ? 0 : (now - then) / seconds);

/** What the page shows of two states: rates. */
quiver.rates = (then, now) => {
  const seconds = now.seconds - then.seconds;
  const arcs = state => new Map(state.counts.arcs.name.map((name, at) => [name, state.counts.arcs.packets[at] ?? 0]));
  const [counted, earlier] = [arcs(now), arcs(then)];
  const ways = now.graph.map(row => {
    const name = `${row.node}/${row.arc}`;
    return { node: row.node, arc: row.arc, to: row["leads-to"], packets: counted.get(name) ?? row.packets,
      rate: rate(counted.get(name) ?? 0, earlier.get(name), seconds) };
  });
  const names = now.counts.interfaces.name;
  const pair = (state, name, at) => state.counts.interfaces[name][at] ?? [0, 0];
  const interfaces = names.map((name, at) => {
    const of = (kind, column) => rate(pair(now, kind, at)[column], pair(then, kind, at)[column], seconds);
    return { name, rx: of("rx", 0), rxBits: of("rx", 1) * 8, tx: of("tx", 0), txBits: of("tx", 1) * 8,
      drops: rate(now.counts.interfaces.drops[at] ?? 0, then.counts.interfaces.drops[at] ?? 0, seconds) };
  }).filter(row => row.name && row.name !== "deleted");
  // Behind a row of the main thread, where there is one.
  const received = state => state.counts.packets.slice(-state.threads.length);
  const workers = now.threads.map((row, at) => {
    const old = then.threads[at] || {};
    const turns = rate(row.turns, old.turns, seconds);
    return { name: row.name, cpu: row.cpu, turns, load: turns > 0 ? rate(row["busy-turns"], old["busy-turns"], seconds) / turns : 0,
      rate: rate(received(now)[at] ?? 0, received(then)[at], seconds), sleeps: rate(row.sleeps, old.sleeps, seconds), queues: row.queues };
  });
  return { arcs: ways, drops: ways.filter(row => row.to === "drop" && row.packets > 0), interfaces, workers };
};

const number = (name, title, unit) => ({ name, title, isNumber: true, value: row => row[name], show: row => (unit === "%" ? `${(row[name] * 100).toFixed(1)} %` : quiver.amount(row[name], unit)) });
const text = (name, title) => ({ name, title, value: row => row[name] ?? null });

const table = (part, label, rows, sort, columns) => {
  const own = sorts[part] || { sort, descending: true };
  parts[part].replaceChildren(quiver.table({ label, name: part, rows, ...own, part: 20, empty: "None.", columns,
    sorted: (name, descending) => { sorts[part] = { sort: name, descending }; } }));
};

const show = (rates, seconds) => {
  table("interfaces", "Interfaces", rates.interfaces, "rx", [text("name", "Interface"), number("rx", "Received", "pps"), number("rxBits", "Received, bits", "bps"),
    number("tx", "Sent", "pps"), number("txBits", "Sent, bits", "bps"), number("drops", "Drops", "pps")]);
  table("drops", "Drops by reason", rates.drops, "rate", [text("arc", "Reason"), text("node", "Node"), number("rate", "Rate", "pps"), number("packets", "Packets", "")]);
  table("workers", "Workers", rates.workers, "load", [text("name", "Worker"), text("cpu", "CPU"), { ...number("load", "Turns with packets", "%"),
    show: row => { const own = element("span", { class: "measure" }, `${(row.load * 100).toFixed(1)} %`); own.style.setProperty("--share", row.load); return own; } },
    number("rate", "Received", "pps"), number("turns", "Turns a second", ""), number("sleeps", "Sleeps a second", ""), text("queues", "Queues")]);
  table("arcs", "Arcs", rates.arcs.filter(row => row.rate > 0), "rate", [text("node", "Node"), text("arc", "Arc"), text("to", "Leads to"), number("rate", "Rate", "pps"), number("packets", "Packets", "")]);
  past.push({ seconds, rates });
  while (past[0].seconds < seconds - PAST) past.shift();
  const top = [...rates.interfaces].sort((one, other) => other.rx + other.tx - one.rx - one.tx).slice(0, 4).filter(row => row.rx + row.tx > 0);
  const most = Math.max(0, ...past.flatMap(own => own.rates.interfaces.flatMap(row => [row.rx, row.tx])));
  const scale = quiver.scaled("pps", most);
  const series = top.flatMap((row, at) => ["rx", "tx"].map((way, side) => {
    const label = `${row.name} ${way}`;
    const points = past.map(own => ({ x: own.seconds - seconds, y: (own.rates.interfaces.find(other => other.name === row.name)?.[way] ?? 0) / scale.divisor }));
    return { number: at * 2 + side, label, isLine: true, points: points.map(point => ({ ...point, text: [label, quiver.amount(point.y * scale.divisor, "pps")] })) };
  }));
  // A chart that somebody looks at stays until the pointer or the focus leaves.
  if (parts.chart.matches(":hover") || parts.chart.contains(document.activeElement)) return;
  parts.chart.replaceChildren(series.length ? quiver.chart({ label: "Interfaces with most packets", unit: scale.unit, xLabel: "seconds ago", fromZero: true, series, height: 240 })
    : element("p", { class: "empty" }, "No packets pass now."), element("ul", { class: "chips" }, series.map(own => element("li", {}, quiver.legendMark(own.number), own.label))));
  quiver.charts = quiver.charts.filter(chart => chart.box.isConnected);
};

const look = async () => {
  try {
    const now = await (await fetch("live.json")).json();
    if (now.error) throw new Error(now.error);
    if (before) {
      quiver.live = { then: before, now, rates: quiver.rates(before, now) };
      quiver.tables = [];
      show(quiver.live.rates, now.seconds);
    }
    before = now;
    state.replaceChildren(element("span", { class: "note" }, `as of ${new Date().toISOString().slice(11, 19)} UTC`));
  } catch (error) {
    state.replaceChildren(element("span", { class: "error", role: "alert" }, error.message));
    before = null;
  }
  setTimeout(look, EVERY * 1000);
};

const draw = async () => {
  try {
    const answer = await fetch("graph.svg");
    if (answer.ok) graph.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await answer.text())}`;
  } catch { /* The other look tells what is wrong. */ }
  setTimeout(draw, EVERY * 1000);
};

quiver.startTheme();
content.replaceChildren(element("h1", {}, "quiverd now"), element("h2", {}, "Graph, packets a second on its arcs"), element("div", { class: "scroll graph", tabindex: "0" }, graph), parts.chart, parts.interfaces, parts.drops, parts.workers, parts.arcs);
look();
draw();

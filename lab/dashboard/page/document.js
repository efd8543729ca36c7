// One document: configuration, machine, trials, counters, histograms, and its text.

const { element } = quiver;

const LOADS = ["pdr_0", "pdr_10", "pdr_50", "pdr_90"];

/** The document of a row: { text, document, path }. */
quiver.loadDocument = async row => {
  const file = await quiver.load(`documents-${row.file}`);
  return { text: file.text[row.place], document: JSON.parse(file.text[row.place]), path: file.path[row.place] };
};

/** Facts as a list of names and values. */
quiver.facts = pairs => element("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

/** A part that can be closed. */
const part = (title, isOpen, ...content) => element("details", { open: isOpen }, element("summary", {}, title), ...content);

/** All of a document. */
quiver.showDocument = async ({ text, document, path }) => {
  const own = document.quiver;
  const parts = [element("h2", {}, `Document of ${document.start_time}`)];
  parts.push(quiver.facts([
    ["Result", document.passed ? "passed" : `failed: ${document.message}`], ["Type", document.test_type],
    ["Device", `${document.dut_type} ${document.dut_version}`], ["Generator", `${document.tg_type} ${document.tg_version}`],
    ["Hosts", document.hosts.join(", ")], ["Duration", `${quiver.number(document.duration)} s`], ["File", path],
  ]));
  parts.push(await latencies(document.result));
  if (own) {
    const machine = own.machine;
    parts.push(part("Machine", true, quiver.facts([
      ["Processor", machine.processor], ["Architecture", machine.architecture], ["Cores", machine.cores],
      ["Memory", `${quiver.number(machine.memory_bytes / 2 ** 30, 4)} GiB`], ["Kernel", machine.kernel], ["Inside", machine.virtualisation],
      ["Time-stamp counter", machine.tsc_hz ? `${quiver.number(machine.tsc_hz / 1e9)} GHz` : null],
      ...Object.entries(own.versions).map(([name, version]) => [`Version of ${name}`, version]),
    ])));
    for (const [name, configuration] of Object.entries(own.configuration)) {
      parts.push(part(`Configuration of ${name}`, false, element("pre", {}, configuration)));
    }
    if (own.figures.length) parts.push(quiver.table({
      label: "Figures", name: "figures", rows: own.figures,
      columns: [{ name: "name", title: "Name", value: row => row.name }, { name: "value", title: "Value", isNumber: true, value: row => row.value, show: row => quiver.number(row.value, 12) },
        { name: "unit", title: "Unit", value: row => row.unit }],
    }));
    if (own.trials.length) parts.push(trials(own.trials));
    parts.push(counters(own.counters_before, own.counters_after));
  }
  parts.push(part(`Telemetry, ${quiver.count(document.telemetry.length, "line")}`, false, element("pre", {}, document.telemetry.join("\n"))));
  parts.push(part("The document itself", false, element("p", {}, save(path, text)), element("pre", { class: "text" }, text)));
  return element("article", { class: "document" }, parts);
};

const save = (path, text) => element("button", { type: "button", onclick: () => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: url, download: path.split("/").slice(-2).join("-") }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
} }, "Download");

const trials = rows => quiver.table({
  label: "Trials", name: "trials", rows,
  columns: [
    { name: "start", title: "Start", value: row => row.start_time, show: row => row.start_time.slice(11, 23) },
    { name: "device", title: "Device", value: row => row.device },
    { name: "load", title: "Load each way", isNumber: true, value: row => row.load_pps, show: row => quiver.amount(row.load_pps, "pps") },
    { name: "time", title: "Time, s", isNumber: true, value: row => row.effective_seconds, show: row => quiver.number(row.effective_seconds) },
    { name: "sent", title: "Sent", isNumber: true, value: row => row.sent_packets, show: row => quiver.number(row.sent_packets, 15) },
    { name: "received", title: "Received", isNumber: true, value: row => row.received_packets, show: row => quiver.number(row.received_packets, 15) },
    { name: "losses", title: "Losses by name", value: row => Object.entries(row.losses).map(([name, count]) => `${name} ${count}`).join(", ") },
    { name: "busy", title: "Cost of a packet", isNumber: true, value: row => row.busy?.ticks_per_packet ?? row.busy?.nanoseconds_per_packet,
      show: row => (row.busy ? `${quiver.number(row.busy.ticks_per_packet ?? row.busy.nanoseconds_per_packet)} ${row.busy.ticks_per_packet === undefined ? "ns" : "ticks"}` : "–") },
    { name: "note", title: "Note", value: row => row.repeated_because || (row.is_limited_by_generator ? "limited by the generator" : "") },
  ],
});

/** Counters that changed, by owner and name. */
const counters = (before, after) => {
  const rows = Object.entries(after).flatMap(([owner, own]) => Object.entries(own)
    .map(([name, value]) => ({ owner, name, before: before[owner]?.[name] ?? 0, after: value })));
  const changed = rows.filter(row => row.after !== row.before);
  return part(`Counters: ${changed.length} of ${rows.length} changed`, false, quiver.table({
    label: "Counters that changed", name: "counters", rows: changed, empty: "None changed.",
    columns: [{ name: "owner", title: "Of", value: row => row.owner }, { name: "name", title: "Counter", value: row => row.name },
      { name: "difference", title: "Difference", isNumber: true, value: row => row.after - row.before, show: row => quiver.number(row.after - row.before, 15) },
      { name: "after", title: "After", isNumber: true, value: row => row.after, show: row => quiver.number(row.after, 15) }],
  }));
};

/** Histograms of delays: percentile curves of both directions at all loads, and their percentiles. */
const latencies = async result => {
  const directions = [["forward", result.latency_forward], ["reverse", result.latency_reverse]].filter(([, own]) => own);
  if (!directions.length) return null;
  const [series, rows] = [[], []];
  for (const [direction, own] of directions) {
    for (const load of LOADS) {
      const label = `${load === "pdr_0" ? "hardly any load" : `${load.slice(4)} % PDR`}, ${direction}`;
      try {
        const delays = await quiver.delays(own[load]);
        const number = series.length;
        series.push({ number, label, isLine: true, points: curve(delays).map(({ value, below }) => ({
          x: 1 / (1 - below), y: value, text: [label, `${quiver.number(value)} µs`, `${quiver.number(below * 100, 7)} % of ${quiver.number(delays.total, 12)} packets are as fast`],
        })) });
        rows.push({ number, label, min: own[load].min, avg: own[load].avg, max: own[load].max, ...Object.fromEntries([50, 90, 99, 99.9].map(own => [own, quiver.percentile(delays, own)])) });
      } catch (error) {
        rows.push({ number: null, label, min: own[load].min, avg: own[load].avg, max: own[load].max, why: error.message });
      }
    }
  }
  const column = name => ({ name: String(name), title: typeof name === "number" ? `P${name}, µs` : `${name}, µs`, isNumber: true, value: row => row[name], show: row => quiver.number(row[name]) });
  return element("section", {},
    series.length ? quiver.chart({ label: "Delays by percentile", unit: "µs", xLabel: "percentile", xLog: true, fromZero: true, series,
      xValues: (_, values) => values.map(value => ([1, 10, 100, 1000, 1e4, 1e5, 1e6].includes(value) ? `${quiver.number((1 - 1 / value) * 100, 7)}` : null)) }) : null,
    quiver.table({ label: "Delays", name: "delays", rows, columns: [
      { name: "label", title: "Load", value: row => row.label, show: row => (row.number === null ? `${row.label} (${row.why})` : element("span", {}, quiver.legendMark(row.number), " ", row.label)) },
      ...["min", "avg", 50, 90, 99, 99.9, "max"].map(column)] }));
};

/** Steps of a histogram that a curve needs: from the median on closer and closer to the greatest. */
const curve = delays => {
  const wanted = [0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92, 94, 96, 97, 98, 99, 99.3, 99.6, 99.8, 99.9, 99.95, 99.99, 99.999];
  const steps = new Map();
  for (const percentile of wanted) {
    const value = quiver.percentile(delays, percentile);
    const below = Math.min(percentile / 100, 1 - 1 / Math.max(2, delays.total));
    steps.set(below, { value, below });
  }
  const last = 1 - 1 / Math.max(2, delays.total);
  steps.set(last, { value: delays.steps[delays.steps.length - 1].value, below: last });
  return [...steps.values()].filter(({ below }) => below <= last).sort((one, other) => one.below - other.below);
};

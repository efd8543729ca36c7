// Data files: scripts that call `quiver.take` with JSON, deflated, in base64. They load from a folder as from a server.

const loading = new Map();
const waiting = new Map();
/** Files of documents are large, and one is shown at a time. */
const KEPT_DOCUMENTS = 4;

const bytes = text => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const array = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) array[at] = binary.charCodeAt(at);
  return array;
};

const inflate = text => {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
};

let made = null;

/** What a data file calls. Files of two sites do not fit together: numbers in them mean something else. */
quiver.take = (name, text, time) => {
  made ??= time;
  waiting.get(name)?.(made === time ? inflate(text) : Promise.reject(new Error("there are newer results; reload this page")));
};

/** The content of a data file, as a promise. */
quiver.load = name => {
  if (loading.has(name)) return loading.get(name);
  const promise = new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    const script = quiver.element("script", { src: `data/${name}.js` });
    script.onload = () => script.remove();
    script.onerror = () => reject(new Error(`data/${name}.js cannot be loaded: make the site again by quiver lab site`));
    document.head.append(script);
  }).finally(() => waiting.delete(name));
  loading.set(name, promise);
  promise.catch(() => loading.delete(name));
  const documents = [...loading.keys()].filter(key => key.startsWith("documents-"));
  documents.slice(0, -KEPT_DOCUMENTS).forEach(key => loading.delete(key));
  return promise;
};

/** Numbers that were stored as differences. */
quiver.sums = differences => {
  let sum = 0;
  return differences.map(difference => (sum += difference));
};

/** The index with a row for each series: what every view begins with. */
quiver.loadIndex = async () => {
  const index = await quiver.load("index");
  if (index.all) return index;
  index.figures.forEach((figure, number) => Object.assign(figure, { number, title: `${figure.name}, ${figure.unit}` }));
  const columns = index.series;
  const [first, last] = [quiver.sums(columns.first), quiver.sums(columns.last)];
  const hosts = index.machines.map(machine => machine.split(" (")[0]);
  const short = hosts.map((host, at) => {
    const same = hosts.flatMap((other, place) => (other === host ? [place] : []));
    return same.length > 1 ? `${host} #${same.indexOf(at) + 1}` : host;
  });
  index.all = columns.id.map((id, number) => ({
    number, id, test: columns.test[number],
    device: index.devices[columns.device[number]],
    machine: index.machines[columns.machine[number]],
    host: short[columns.machine[number]],
    kind: columns.kind[number],
    tags: columns.tags[number].map(tag => index.tags[tag]),
    count: columns.count[number], failed: columns.failed[number],
    first: first[number], last: last[number], clock: columns.clock[number],
    figures: columns.figures[number],
  }));
  index.byId = new Map(index.all.map(series => [series.id, series]));
  return index;
};

/** The rows of a series. `samples(figure)` gives [{ row, value }]. */
quiver.loadCase = async series => {
  const file = await quiver.load(`case-${series.id}`);
  if (!file.rows) {
    const [time, files] = [quiver.sums(file.time), quiver.sums(file.file)];
    file.rows = time.map((own, at) => ({
      at, series, time: own, revision: file.revision[at], hosts: file.hosts[at], message: file.message[at],
      seconds: file.seconds[at], file: files[at], place: file.place[at], samples: file.samples?.[at],
    }));
    file.samplesOf = figure => {
      const column = file.values[figure];
      if (!column) return [];
      return column.value.map((value, at) => ({ row: file.rows[column.at ? column.at[at] : at], value }));
    };
  }
  return file;
};

/** The factor that brings a figure of a series to a clock of 2 GHz; null where its clock is not known. */
quiver.factor = (series, figure) => {
  if (figure.scale === "none") return 1;
  if (!series.clock) return null;
  return figure.scale === "rate" ? 2e9 / series.clock : series.clock / 2e9;
};

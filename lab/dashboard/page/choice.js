// Choices that views share: filters of series, figures, cases.

const { element, field, select, text } = quiver;

const GROUPS = [["throughput", "Throughput"], ["bandwidth", "Bandwidth"], ["latency", "Latency"], ["cost", "Cost of a packet"],
  ["energy", "Energy"], ["other", "Other figures"]];

/** Whether all words are in a text, in any case of letters. */
quiver.hasWords = (words, where) => {
  const lower = where.toLowerCase();
  return words.toLowerCase().split(/\s+/).every(word => lower.includes(word));
};

/** Series that pass the filters `text`, `device`, `host` of the address. */
quiver.filtered = (index, query) => {
  const [words, device, host] = ["text", "device", "host"].map(key => query.get(key) || "");
  return index.all.filter(series => (!device || series.device === device) && (!host || series.host === host)
    && (!words || quiver.hasWords(words, `${series.test} ${series.tags.join(" ")}`)));
};

/** Fields of these filters. `change(settings, isTyping)` hears the new ones. */
quiver.filters = (index, query, change) => {
  const of = key => [["", "all"], ...[...new Set(index.all.map(series => series[key]))].sort().map(value => [value, value])];
  return [
    text("Cases with words or tags", query.get("text") || "", value => change({ text: value }, true)),
    select("Device", of("device"), query.get("device") || "", device => change({ device })),
    select("Machine", of("host"), query.get("host") || "", host => change({ host })),
  ];
};

/** Tabs for the group and a list for the figure; `figures` are those to choose from. */
quiver.figureChoice = (figures, chosen, choose) => {
  const groups = GROUPS.filter(([group]) => figures.some(figure => figure.group === group));
  const own = figures.filter(figure => figure.group === chosen.group);
  const first = group => figures.find(figure => figure.group === group);
  return [
    quiver.tabs("Kind of figure", groups, chosen.group, group => choose(first(group))),
    select("Figure", own.map(figure => [figure.title, figure.title]), chosen.title,
      title => choose(own.find(figure => figure.title === title))),
  ];
};

/** The figure that the address names, or the first one of the best known group. */
quiver.chosenFigure = (figures, query) => {
  const named = figures.find(figure => figure.title === query.get("figure"));
  const order = GROUPS.map(([group]) => group);
  const best = [...figures].sort((one, other) => order.indexOf(one.group) - order.indexOf(other.group));
  return named || best.find(figure => order.includes(figure.group)) || null;
};

/** A field that finds series by words; `add(series)` hears the choice. */
quiver.casePicker = (index, taken, add) => {
  const list = element("ul", { class: "found", role: "listbox", id: "found-cases", "aria-label": "Cases", hidden: true });
  let [rows, active] = [[], -1];
  const input = element("input", {
    type: "search", role: "combobox", "aria-expanded": "false", "aria-controls": "found-cases", autocomplete: "off",
    placeholder: "such as: 64b 1c l2xc mrr",
    oninput: () => find(), onfocus: () => find(),
    onblur: () => setTimeout(() => close(), 200),
    onkeydown: event => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) find();
        active = Math.max(0, Math.min(rows.length - 1, active + (event.key === "ArrowDown" ? 1 : -1)));
        mark();
      } else if (event.key === "Enter" && rows[Math.max(0, active)] && !list.hidden) add(rows[Math.max(0, active)]);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    },
  });
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
  const mark = () => [...list.children].forEach((item, at) => {
    item.setAttribute("aria-selected", String(at === active));
    if (at === active) { input.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); }
  });
  const find = () => {
    rows = index.all.filter(series => !taken.includes(series)
      && quiver.hasWords(input.value, `${series.test} ${series.device} ${series.host} ${series.tags.join(" ")}`)).slice(0, 50);
    active = -1;
    list.replaceChildren(...rows.map((series, at) => element("li",
      { role: "option", id: `found-case-${at}`, onmousedown: event => { event.preventDefault(); add(series); } },
      quiver.seriesName(series))));
    if (!rows.length) list.replaceChildren(element("li", {}, "No case has all of these words."));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  return element("div", { class: "picker" }, field("Add a case", input), list);
};

/** Test, device and machine in one line. */
quiver.seriesName = series => `${series.test} · ${series.device} on ${series.host}`;

/** A link to the page of a series. */
quiver.caseLink = (series, words) => element("a", { href: quiver.link("case", { id: series.id }) }, words || series.test);

/** A machine, with all that is known of it for the pointer. */
quiver.machine = series => element("span", { title: series.machine }, series.host);

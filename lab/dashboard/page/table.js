// Tables: sorted by a click on a column's head, shown in parts, as cards where the page is narrow.

const { element } = quiver;

/** Rows of a part. */
const PART = 100;

/** Tables of the page, for whoever reads them. */
quiver.tables = [];

/**
 * options: { label, columns, rows, sort, descending, sorted(name, descending), name, download, part (rows at first) }
 * columns: [{ name, title, value(row) for sorting and files, show(row) text or node, isNumber }]
 */
quiver.table = options => {
  let { sort, descending = false } = options;
  let shown = options.part || PART;
  const [body, more] = [element("tbody"), element("button", { type: "button", class: "more", onclick: () => { shown += PART * 5; fill(); } })];
  const heads = options.columns.map(column => element("th", { scope: "col", class: column.isNumber ? "number" : null },
    element("button", { type: "button", onclick: () => {
      descending = sort === column.name ? !descending : column.isNumber === true;
      sort = column.name;
      if (options.sorted) options.sorted(sort, descending);
      fill();
    } }, column.title)));
  const text = value => (value === null || value === undefined ? "–" : value);
  const order = () => {
    const column = options.columns.find(own => own.name === sort);
    if (!column) return options.rows;
    const way = descending ? -1 : 1;
    const keyed = options.rows.map((row, at) => [column.value(row), at, row]);
    keyed.sort(([one, first], [other, second]) => {
      // What is not known comes last, whichever way.
      const [oneIs, otherIs] = [one !== null && one !== undefined && one === one, other !== null && other !== undefined && other === other];
      if (oneIs !== otherIs) return oneIs ? -1 : 1;
      if (!oneIs || one === other) return first - second;
      return (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other) * way || first - second;
    });
    return keyed.map(([, , row]) => row);
  };
  const own = { label: options.label, rows: () => order().map(record) };
  const record = row => Object.fromEntries(options.columns.map(column => [column.title, column.value(row) ?? null]));
  const fill = () => {
    const rows = order();
    heads.forEach((head, at) => {
      if (options.columns[at].name === sort) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...rows.slice(0, shown).map(row => element("tr", {}, options.columns.map((column, at) =>
      element(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: column.isNumber ? "number" : null, "data-title": column.title },
        element("span", {}, text(column.show ? column.show(row) : column.value(row))))))));
    more.hidden = rows.length <= shown;
    more.textContent = `Show more of ${quiver.count(rows.length, "row")}`;
  };
  fill();
  own.box = element("section", { class: "table" },
    element("div", { class: "bar" },
      element("h2", {}, options.label), element("span", { class: "count" }, quiver.count(options.rows.length, "row")),
      options.download === false ? null : quiver.downloads(options.name || "quiver-lab", own.rows)),
    options.rows.length === 0 ? element("p", { class: "empty" }, options.empty || "Nothing.")
      : element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, heads)), body)),
    more);
  quiver.tables.push(own);
  return own.box;
};

// Elements of the page. Texts from documents become text nodes and attributes, never markup.

/** An element: attributes, listeners (`onclick: f`), and children, which are texts or nodes. Nothing comes of null. */
quiver.element = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
};

const element = quiver.element;

/** A labelled control. */
quiver.field = (label, control) => element("label", { class: "field" }, element("span", {}, label), control);

/** A list to choose from: options are texts or [value, text]; `choose` hears the value. */
quiver.select = (label, options, chosen, choose) => {
  const pairs = options.map(option => (Array.isArray(option) ? option : [option, option]));
  const list = element("select", { onchange: event => choose(event.target.value) },
    pairs.map(([value, text]) => element("option", { value, selected: String(value) === String(chosen) }, text)));
  return quiver.field(label, list);
};

/** A box to check. */
quiver.check = (label, checked, choose) => element("label", { class: "check" },
  element("input", { type: "checkbox", checked, onchange: event => choose(event.target.checked) }), " ", label);

/** One of several, as buttons. */
quiver.tabs = (label, options, chosen, choose) => element("div", { class: "tabs", role: "group", "aria-label": label },
  options.map(([value, text]) => element("button",
    { type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value) }, text)));

/** A field for text; `choose` hears it when typing pauses. */
quiver.text = (label, value, choose, attributes) => {
  let timer;
  const input = element("input", {
    type: "search", value, autocomplete: "off", spellcheck: "false",
    oninput: event => {
      clearTimeout(timer);
      timer = setTimeout(() => choose(event.target.value), 150);
    },
    ...attributes,
  });
  return quiver.field(label, input);
};

/** Buttons that download rows as CSV and JSON. `rows()` gives objects of one shape. */
quiver.downloads = (name, rows) => {
  const give = (ending, type, text) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    element("a", { href: url, download: `${name}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return element("span", { class: "downloads" },
    element("button", { type: "button", onclick: () => give("csv", "text/csv", quiver.csv(rows())) }, "CSV"), " ",
    element("button", { type: "button",
      onclick: () => give("json", "application/json", JSON.stringify(rows(), null, 1) + "\n") }, "JSON"));
};

/** Rows as CSV after RFC 4180. A text that a spreadsheet would take for a formula is quoted by an apostrophe. */
quiver.csv = rows => {
  const cell = value => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = rows.length ? Object.keys(rows[0]) : [];
  return [names, ...rows.map(row => names.map(name => row[name]))].map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
};

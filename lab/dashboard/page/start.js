// The page: menu, theme, and the view of the address.

const { element } = quiver;
const content = document.getElementById("content");
const menu = document.querySelector("nav");
let turn = 0;

/** Shows the view of the address. A view that is overtaken by the next one is not shown. */
quiver.render = async () => {
  const own = ++turn;
  const { view, query } = quiver.address();
  const known = quiver.views[view] || quiver.views.trending;
  const root = element("div", { class: "view" });
  const focused = document.activeElement?.closest?.("label")?.firstChild?.textContent;
  const caret = document.activeElement?.selectionStart;
  document.body.setAttribute("aria-busy", "true");
  menu.replaceChildren(...Object.entries(quiver.views).filter(([, { isHidden }]) => !isHidden).map(([name, { title }]) =>
    element("a", { href: quiver.link(name), "aria-current": known.title === title ? "page" : null }, title)));
  document.title = `${known.title} · Quiver lab`;
  // Into the page at once: a chart measures the room that it has. Hidden, until the old one goes.
  try {
    await known.render(root, query);
  } catch (error) {
    root.replaceChildren(element("p", { class: "error", role: "alert" }, `This cannot be shown: ${error.message}`));
  }
  if (own !== turn) return;
  content.replaceChildren(element("h1", {}, known.title), root);
  quiver.tables = quiver.tables.filter(table => table.box.isConnected);
  quiver.charts = quiver.charts.filter(chart => chart.box.isConnected);
  // A field that was being filled in goes on being so.
  const again = focused && [...content.querySelectorAll("label.field")].find(label => label.firstChild.textContent === focused);
  const control = again?.querySelector("input, select");
  if (control) {
    control.focus();
    if (typeof caret === "number" && control.setSelectionRange && control.type === "search") control.setSelectionRange(caret, caret);
  }
  document.body.removeAttribute("aria-busy");
  quiver.shown = location.hash;
  document.dispatchEvent(new Event("quiver-shown"));
};

addEventListener("hashchange", quiver.render);
addEventListener("popstate", quiver.render);
quiver.startTheme();
quiver.render().then(async () => {
  const index = await quiver.loadIndex();
  document.querySelector("footer").replaceChildren(
    `${quiver.count(index.documents, "document")} in ${quiver.count(index.all.length, "series", "series")}, ${quiver.number(index.failed, 12)} of failed tests. Made ${index.made}.`,
    index.skipped_in_all ? element("details", {}, element("summary", {}, `${quiver.count(index.skipped_in_all, "file")} left out`), element("ul", {}, index.skipped.map(reason => element("li", {}, reason)))) : "");
});

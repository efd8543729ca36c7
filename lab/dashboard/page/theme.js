// Light and dark: as the system says, or as the button is set.

const ORDER = ["system", "light", "dark"];
const button = document.getElementById("theme");
const root = document.documentElement;

const kept = () => {
  try { return localStorage.getItem("quiver-theme"); } catch { return null; }
};

const apply = theme => {
  if (theme === "system") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
  button.textContent = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" }[theme];
  dispatchEvent(new Event("quiver-theme"));
};

/** Sets the theme that was chosen before, and lets the button change it. */
quiver.startTheme = () => {
  let theme = ORDER.includes(kept()) ? kept() : "system";
  apply(theme);
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    try { localStorage.setItem("quiver-theme", theme); } catch { /* It holds for this page only. */ }
    apply(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("quiver-theme")));
};

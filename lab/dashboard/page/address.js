// The address: `#/view?key=value`. It says all that is shown, so that a link shares it.

/** View and settings of the address. */
quiver.address = () => {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view || "trending", query: new URLSearchParams(query || "") };
};

/** The address of a view with settings; a list sets a key several times. */
quiver.link = (view, settings) => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(settings || {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "" && one !== false) query.append(key, one === true ? "1" : one);
    }
  }
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
};

/** Goes on with other settings of the same view. Typing makes no history; choices do. */
quiver.go = (view, settings, isTyping) => {
  const link = quiver.link(view, settings);
  if (link === location.hash) return;
  if (isTyping) history.replaceState(null, "", link); else history.pushState(null, "", link);
  quiver.render();
};

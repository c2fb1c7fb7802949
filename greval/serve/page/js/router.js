/** Views by the part of the address after `#/`; every view has a permanent link. */

import { render } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { Problem } from "./components/notices.js";
import { html } from "./html.js";

/** Return the address of a view; lists become repeated names, and null is left out. */
export function at(parts, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null) params.append(name, one);
  }
  const text = params.toString();
  return `#/${[parts].flat().map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Go to a view; `replace` leaves no step in the history. */
export function go(hash, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", hash);
  else location.hash = hash;
}

/** Read the address. */
function readAddress() {
  const [place, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { parts: place.split("/").filter(Boolean).map(decodePart), query: new URLSearchParams(query) };
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Show the view of the address, now and whenever it changes.
 * @param {HTMLElement} place where views are shown
 * @param {Array} routes [names of parts, view, identify]; a name in capitals takes any part. A view is a component of
 *   {params, query}. It is built anew for each address, unless `identify(params)` returns what it returned before.
 * @returns {Function} shows an error above the view
 */
export function startRouter(place, routes) {
  let shown = null;
  let visits = 0;

  function draw(error = null) {
    const { key, View, params, query } = shown;
    render(html`
      <div class="view" key=${key}>
        ${error && html`<${Problem} error=${error} />`}
        <${View} params=${params} query=${query} />
      </div>`, place);
  }
  function show(first) {
    const { parts, query } = readAddress();
    const { View, params, identity } = matchRoute(routes, parts);
    markTab(parts[0]);
    const kept = shown?.View === View && identity !== null && shown.identity === identity;
    const focused = document.activeElement;
    if (!kept) visits += 1;
    shown = { key: visits, View, params, query, identity };
    draw();
    if (!kept) focusHeading(place, focused, first);
  }
  place.replaceChildren();
  addEventListener("hashchange", () => show(false));
  show(true);
  return draw;
}

/** Name the page, and put the focus on its heading, so that a reader goes on from there, unless it moved meanwhile. */
function focusHeading(place, focused, first) {
  const heading = place.querySelector("h1");
  document.title = `${heading.textContent} · greval`;
  if (first) return;
  heading.tabIndex = -1;
  if (document.activeElement === focused || document.activeElement === document.body) heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  announce(heading.textContent);
}

function matchRoute(routes, parts) {
  for (const [names, View, identify] of routes) {
    if (names.length !== parts.length) continue;
    if (!names.every((name, place) => name === parts[place] || name === name.toUpperCase())) continue;
    const params = Object.fromEntries(names.map((name, place) => [name.toLowerCase(), parts[place]]));
    return { View, params, identity: identify?.(params) ?? null };
  }
  return { View: routes.at(-1)[1], params: {}, identity: null };
}

/** Mark the tab of the view. */
function markTab(word) {
  const tab = { "new-run": "runs", import: "runs", history: "runs", metrics: "library" }[word] ?? word;
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#/${tab}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Views by the part of the address after `#/`; links into the page go deep. */

import { announce, fill, h } from "./dom.js";
import { fieldOf } from "./parts/field.js";
import { problemBox } from "./parts/problem.js";

/** Give the address of a view. */
export function at(parts, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") params.append(name, one);
  }
  const said = params.toString();
  return `#/${[parts].flat().map(encodeURIComponent).join("/")}${said ? `?${said}` : ""}`;
}

/** Go to a view; `replace` leaves no step in the history. */
export function go(hash, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", hash);
  else location.hash = hash;
}

/** Read the address. */
export function here() {
  const [place, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { parts: place.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Show the view of the address, now and whenever it changes.
 * @param {HTMLElement} place where views stand
 * @param {Array} routes [names of parts, view]; a name in capitals takes any part. A view is an async function
 *   of {root, params, query, signal}; it may give a function that takes the next address of the same route itself.
 */
export function start(place, routes) {
  let leave = new AbortController();
  let shown = null;
  let again = null;

  async function show(first) {
    const { parts, query } = here();
    const [view, params] = found(routes, parts);
    mark(parts[0]);
    if (view === shown && again?.({ params, query })) return;
    leave.abort();
    leave = new AbortController();
    const { signal } = leave;
    const from = document.activeElement;
    const label = view === shown ? from?.dataset?.field : null;
    const root = h("div", { class: "view" });
    fill(place, root);
    place.setAttribute("aria-busy", "true");
    [shown, again] = [view, null];
    try {
      const ready = view({ root, params, query, signal });
      if (!label) settle(root, from, first); // views put their heading before they wait for anything
      const next = await ready;
      if (signal.aborted) return;
      again = next ?? null;
    } catch (error) {
      if (signal.aborted) return;
      const head = root.querySelector(".head") ?? h("h1", null, "This cannot be shown");
      fill(root, head, problemBox(error, { retry: () => show(false) }));
      shown = null;
    }
    if (signal.aborted) return;
    place.removeAttribute("aria-busy");
    if (label) fieldOf(root, label)?.focus();
  }
  addEventListener("hashchange", () => show(false));
  show(true);
}

/** Name the page, and put the focus on its heading, so that a reader goes on from there, unless it moved meanwhile. */
function settle(root, from, first) {
  const heading = root.querySelector("h1");
  if (!heading) return;
  document.title = `${heading.textContent} · greval`;
  if (first) return;
  heading.tabIndex = -1;
  if (document.activeElement === from || document.activeElement === document.body) heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  announce(heading.textContent);
}

function found(routes, parts) {
  for (const [names, view] of routes) {
    if (names.length !== parts.length) continue;
    if (!names.every((name, place) => name === parts[place] || name === name.toUpperCase())) continue;
    const params = Object.fromEntries(names.map((name, place) => [name.toLowerCase(), parts[place]]));
    return [view, params];
  }
  return [routes.at(-1)[1], {}];
}

function mark(word) {
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#/${word === "new-run" ? "runs" : (word ?? "library")}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** What went wrong, as the server says it, and empty places that say what to do next. */

import { h, text } from "../dom.js";

/** Give a box that tells an error; `retry` gets a button. */
export function problemBox(error, { retry } = {}) {
  const faults = (error.faults ?? []).map(faultText);
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("p", { class: "notice-title" }, error.title ?? "The page failed",
      error.status ? h("span", { class: "soft" }, ` ${error.status}`) : null),
    h("p", null, text(error.detail ?? `${error.name}: ${error.message}`)),
    faults.length > 1 || (faults.length && faults[0] !== error.detail)
      ? h("ul", { class: "faults" }, faults.map((fault) => h("li", null, text(fault))))
      : null,
    error.requestId ? h("p", { class: "small soft" }, "Request ", h("code", null, error.requestId)) : null,
    retry ? h("p", null, h("button", { type: "button", onclick: retry }, "Try again")) : null,
  );
}

/** Give a fault as one line: its place and what is wrong there. */
export const faultText = ({ place, message }) => (place ? `${place}: ${message}` : message);

/** Give a note that is no error: `tone` is "warn" or "plain". */
export const notice = (tone, ...content) => h("div", { class: `notice ${tone}` }, content);

/** Give what stands where there is nothing yet, with what to do next. */
export const empty = (title, ...next) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), next.length ? h("p", null, next) : null);

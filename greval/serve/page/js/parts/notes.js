/** Notes: what a judge told beside its verdict, as texts, tables and shares. */

import { h, text } from "../dom.js";
import { percent } from "../format.js";

const MOST = 50;

/** Give the notes of a judgement; null where there are none. */
export function notesList(notes) {
  const entries = Object.entries(notes ?? {}).filter(([, content]) => content !== null && content !== undefined);
  if (!entries.length) return null;
  return h("dl", { class: "notes" }, entries.map(([name, content]) => [
    h("dt", null, name.replaceAll("_", " ")),
    h("dd", null, note(content)),
  ]));
}

function note(content) {
  if (Array.isArray(content)) return content.length ? listed(content) : h("span", { class: "soft" }, "none");
  if (typeof content === "object" && "share" in content) return share(content);
  if (typeof content === "object") return h("pre", { class: "block" }, JSON.stringify(content, null, 1));
  return text(String(content));
}

function share({ count, of, share: found }) {
  if (found === null || found === undefined) return h("span", { class: "soft" }, "none to count");
  return h("span", { class: "share" },
    h("span", { class: "meter", "aria-hidden": "true" }, h("span", { class: "meter-fill", size: found })),
    `${percent(found)} (${count} of ${of})`);
}

function listed(entries) {
  if (entries.some((entry) => typeof entry !== "object" || entry === null)) {
    return h("ul", null, entries.slice(0, MOST).map((entry) => h("li", null, text(String(entry)))));
  }
  const fields = [...new Set(entries.flatMap(Object.keys))];
  return h("div", { class: "scroll" }, h("table", { class: "small" },
    h("thead", null, h("tr", null, fields.map((field) => h("th", { scope: "col" }, field.replaceAll("_", " "))))),
    h("tbody", null, entries.slice(0, MOST).map((entry) =>
      h("tr", null, fields.map((field) => h("td", null, text(String(entry[field] ?? "")))))))));
}

/** Parts of tables. */

import { data, h } from "../dom.js";
import { at } from "../router.js";

/** Give a head of columns: words, or [word, class]. */
export const headRow = (...columns) =>
  h("thead", null, h("tr", null, columns.map((column) => {
    const [word, tone] = [column].flat();
    return h("th", { scope: "col", class: tone }, word);
  })));

/** Give the cell that leads to a case. */
export function caseCell(run, id, method) {
  const href = at(["runs", run, "case"], { sample_id: id, method });
  return h("td", { class: "case-cell" },
    h("a", { class: "mono", href, dir: "auto" }, id || "(no id)"),
    method ? h("div", { class: "soft small", dir: "auto" }, method) : null);
}

/** Give the name of a metric as a link to the library. */
export const metricLink = (name) => h("a", { class: "plain-link", href: at(["library", name]), dir: "auto" }, name);

/** Give a text that leads back to an address. */
export const crumb = (href, word) => h("a", { href }, data(word));

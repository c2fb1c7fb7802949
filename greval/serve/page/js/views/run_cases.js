/** The cases of a run, each with how its judgements stand. */

import { get, name as part } from "../api.js";
import { data, fill, h, text } from "../dom.js";
import { empty } from "../parts/problem.js";
import { caseCell, headRow } from "../parts/table.js";

const PAGE = 50;
const MARKS = { scored: "✓", skipped: "–", failed: "✕" };

/** Show the cases. */
export async function casesTab({ place, run, signal }) {
  const body = h("tbody");
  const more = h("button", { type: "button", hidden: true, onclick: load }, "More");
  let cursor = null;

  async function load() {
    const found = await get(`/v1/runs/${part(run.id)}/cases`, { cursor, limit: PAGE }, signal);
    cursor = found.next;
    more.hidden = !cursor;
    const first = body.children.length;
    body.append(...found.cases.map((one) => row(run.id, one)));
    if (first) body.children[first]?.querySelector("a").focus();
  }
  await load();
  if (!body.children.length) return fill(place, empty("No case yet.", "They appear here as they are judged."));
  const table = h("table", { class: "cases" }, headRow("case", "question", "judgements"), body);
  return fill(place, h("div", { class: "sheet scroll" }, table), more);
}

const row = (run, { sample_id: id, method, question, statuses }) =>
  h("tr", null,
    caseCell(run, id, method),
    h("td", null, text(question)),
    h("td", null, h("ul", { class: "statuses" }, Object.entries(statuses).map(mark))));

const mark = ([metric, status]) =>
  h("li", { class: status },
    h("span", { "aria-hidden": "true" }, MARKS[status] ?? "?"),
    h("span", { class: "mono small" }, data(metric)),
    h("span", { class: "unseen" }, ` ${status}`));

/** The results of a run, one a row, filtered by metric, method, status, value and tag. */

import { get, name as part } from "../api.js";
import { announce, fill, h, text } from "../dom.js";
import { counted } from "../format.js";
import { badge, outcomeBadge } from "../parts/badge.js";
import { knownMetrics } from "../parts/catalogue.js";
import { choice, entry, field, keepingFocus, options } from "../parts/field.js";
import { empty } from "../parts/problem.js";
import { valuesOf } from "../parts/scale.js";
import { caseCell, headRow } from "../parts/table.js";
import { failuresOf, valueChip } from "../parts/verdict.js";
import { at, go } from "../router.js";

const PAGE = 50;
const MOST_ITEMS = 4;
const FILTERS = ["metric", "method", "status", "value", "tag"];
const STATUSES = ["scored", "skipped", "failed"];

/** Show the results that fit the filters of the address. */
export async function resultsTab({ place, run, query, signal }) {
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const known = await knownMetrics(run.metrics, signal);
  const body = h("tbody");
  const more = h("button", { type: "button", hidden: true, onclick: load }, "More");
  let cursor = null;

  async function load() {
    const found = await get(`/v1/runs/${part(run.id)}/results`, { ...wanted, cursor, limit: PAGE }, signal);
    cursor = found.next;
    more.hidden = !cursor;
    const first = body.children.length;
    body.append(...found.results.map((result) => row(run.id, result, known.get(result.metric), wanted.value)));
    if (first) body.children[first]?.querySelector("a").focus();
    announce(`${counted(body.children.length, "result")}${cursor ? " so far" : ""}`);
  }
  await load();
  if (signal.aborted) return;
  const table = h("table", { class: "results" }, headRow("case", "metric", "verdict", "reason"), body);
  const shown = body.children.length ? h("div", { class: "sheet scroll" }, table) : noneFits(run.id);
  keepingFocus(place, () => fill(place, filters(run, wanted, known), shown, more));
}

function noneFits(id) {
  const all = h("a", { href: at(["runs", id], { tab: "results" }) }, "see all results");
  return empty("No result fits.", "Choose other filters, or ", all, ".");
}

function filters(run, wanted, known) {
  const turn = (change) => go(at(["runs", run.id], { tab: "results", ...Object.assign(wanted, change) }));
  const values = valuesOf(known.get(wanted.metric)?.scale) ?? (wanted.value ? [wanted.value] : null);
  const select = (label, name, names, also = {}) =>
    field(label, choice(options("all", names), wanted[name] ?? "", (value) => turn({ [name]: value, ...also })));
  return h("div", { class: "filters-row" },
    select("Metric", "metric", run.metrics, { value: null }),
    (run.methods?.length ?? 0) > 1 ? select("Method", "method", run.methods) : null,
    select("Status", "status", STATUSES),
    values ? select("Value", "value", values) : null,
    field("Tag", entry(wanted.tag, "name:value", (tag) => turn({ tag }))));
}

function row(run, result, metric, value) {
  const said = lines(result, metric?.scale, value);
  const rest = said.length - MOST_ITEMS;
  return h("tr", null,
    caseCell(run, result.sample_id, result.method),
    h("td", { class: "mono small", dir: "auto" }, result.metric),
    h("td", { colspan: "2" }, h("div", { class: "lines" },
      said.slice(0, MOST_ITEMS),
      rest > 0 ? h("p", { class: "small soft" }, `and ${counted(rest, "more item")}`) : null)));
}

/** Give one line for each judgement and failure; those with the wanted value come first. */
function lines({ outcome }, scale, value) {
  if (outcome.status === "skipped") return [line(outcomeBadge("skipped"), outcome.reason)];
  const rank = (judgement) => Number(String(judgement.value) === value);
  const judged = (outcome.judgements ?? []).toSorted((a, b) => rank(b) - rank(a));
  return [
    ...failuresOf(outcome).map(({ kind, message, item }) => line(badge(`failed: ${kind}`, "bad"), message, item)),
    ...judged.map((judgement) => line(valueChip(judgement.value, scale), judgement.reason, judgement.item)),
  ];
}

const line = (mark, reason, item = null) =>
  h("div", { class: "line" },
    h("div", null, mark, item ? h("div", { class: "small soft mono", dir: "auto" }, item) : null),
    h("p", null, text(reason)));

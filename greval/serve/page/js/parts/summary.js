/** A metric of a run: counts, mean with its interval, distribution, failures and skips, one row a group. */

import { h, text } from "../dom.js";
import { count, counted, decimals, figure } from "../format.js";
import { at } from "../router.js";
import { badge } from "./badge.js";
import { WHAT_TO_DO } from "./failure.js";
import { axis, interval } from "./interval.js";
import { told } from "./scale.js";
import { legend, spread } from "./spread.js";
import { headRow, metricLink } from "./table.js";

const STATUSES = ["scored", "skipped", "failed"];
const NOT_TOLD = "(none)"; // the group of cases without the tag, as the report names it

/**
 * Give the sheet of one metric.
 * @param {string} run its id
 * @param {string} name the metric's
 * @param {Array} summaries one for each group
 * @param {Object} known {metric, listed, by, pending}: its definition, its values, what groups are named by,
 *   how many cases are not judged yet
 */
export function summarySheet(run, name, summaries, { metric, listed, by, pending }) {
  const scale = metric?.scale ?? null;
  const ends = endsOf(scale);
  const span = axis(summaries.map(figureOf), ends);
  const context = { scale, listed, span, by, address: addresses(run, name, by) };
  return h("section", { class: "sheet summary", "aria-labelledby": `summary-${name}` },
    h("header", { class: "verdict-head" },
      h("h2", { class: "mono", id: `summary-${name}` }, metricLink(name)),
      h("span", { class: "soft small" }, told(scale))),
    h("div", { class: "scroll" }, h("table", { class: "figures" },
      headRow(...(by.length ? [[by.join(" · "), "group"]] : []), ...["planned", ...STATUSES].map((word) => [word, "num"]),
        ["mean [95 %]", "mean"], [`${figure(span[0])} to ${figure(span[1])}`, "wide-only"], ["values", "values"]),
      h("tbody", null, summaries.map((summary) => row(summary, context))))),
    legend(summaries, scale, listed),
    troubles(summaries, context),
    pending ? h("p", { class: "warn-text small" }, `${counted(pending, "case")} not judged yet.`) : null);
}

/** Give a function that gives the address of the results behind a figure. */
function addresses(run, name, by) {
  const only = by.length === 1 ? by[0] : null;
  const within = ({ group }) => {
    if (!only || group === NOT_TOLD) return {};
    return only === "method" ? { method: group } : { tag: `${only}:${group}` };
  };
  return (summary, query) => at(["runs", run], { tab: "results", metric: name, ...within(summary), ...query });
}

const figureOf = ({ mean, interval: found }) => ({ at: mean, low: found?.low, high: found?.high });

function endsOf(scale) {
  if (scale?.range) return scale.range;
  if (!scale?.categories) return typeof scale?.high === "number" ? [scale.low, scale.high] : null;
  const scores = Object.values(scale.categories).map(({ score }) => score).filter((score) => typeof score === "number");
  return scores.length > 1 ? [Math.min(...scores), Math.max(...scores)] : null;
}

function row(summary, { scale, listed, span, address, by }) {
  const said = meanTold(summary);
  return h("tr", null,
    by.length ? h("th", { scope: "row", class: "group", dir: "auto" }, summary.group || "–") : null,
    cell("planned", count(summary.planned)),
    STATUSES.map((status) => cell(status, counter(summary, status, address), lostItems(summary, status))),
    h("td", { class: "mean" }, said, moments(summary)),
    h("td", { class: "wide-only" }, summary.mean === null ? null : interval(figureOf(summary), span, { told: said })),
    h("td", { class: "values" }, spread(summary, scale, listed, (value) => address(summary, { value }))));
}

const cell = (label, ...content) => h("td", { class: "num", "data-label": label }, content);

function counter(summary, status, address) {
  const many = count(summary[status]);
  if (!summary[status]) return many;
  const tone = status === "failed" ? "bad-link" : "plain-link";
  return h("a", { class: tone, href: address(summary, { status }), "aria-label": `${many} ${status}` }, many);
}

function lostItems({ items_failed: many }, status) {
  if (status !== "scored" || !many) return null;
  return h("span", { class: "small bad-text", title: "single items that failed" }, ` −${counted(many, "item")}`);
}

/** Give a mean with its interval and what it is of. */
function meanTold({ mean, interval: found, counted: many }) {
  if (mean === null) return "–";
  const write = decimals(mean, found?.low, found?.high);
  return `${write(mean)} ${found ? `[${write(found.low)}, ${write(found.high)}]` : "[no interval]"}  n = ${count(many)}`;
}

/** Give median, standard deviation and ends of the numbers, null if there are not two of them. */
function moments({ median, standard_deviation: deviation, minimum, maximum }) {
  if (typeof deviation !== "number") return null;
  return h("div", { class: "soft small" },
    `median ${figure(median)}, sd ${figure(deviation)}, ${figure(minimum)} to ${figure(maximum)}`);
}

/** Say what failed, with what to do, and what was skipped, each with the way to it. */
function troubles(summaries, { address, by }) {
  const rows = summaries.flatMap((summary) => {
    const where = by.length && summaries.length > 1 ? h("span", { class: "soft", dir: "auto" }, ` ${summary.group}`) : null;
    const line = (status, tone, word, many, said) => {
      const link = h("a", { class: tone === "bad" ? "bad-link" : "plain-link", href: address(summary, { status }) });
      link.append(badge(word, tone), ` ${count(many)}`);
      return h("li", null, link, where?.cloneNode(true), " ", text(said, "soft"));
    };
    return [
      ...Object.entries(summary.failures).map(([kind, many]) => line("failed", "bad", kind, many, WHAT_TO_DO[kind] ?? "")),
      ...Object.entries(summary.skips).map(([reason, many]) => line("skipped", "plain", "skipped", many, reason)),
    ];
  });
  return rows.length ? h("ul", { class: "troubles small" }, rows) : null;
}

/** The tables of a comparison: one for each pair of methods, a row for each metric and group of questions. */

import { data, h } from "../dom.js";
import { count, decimals, pValue, percent, signed } from "../format.js";
import { badge } from "./badge.js";
import { grouped } from "./grouping.js";
import { axis, interval } from "./interval.js";
import { headRow } from "./table.js";

const TONES = { better: "good", worse: "bad" };
const HOW_TO_READ = "Won, tied and lost count questions that both methods have a figure of. A difference smaller than "
  + "“could miss” names would be found in fewer than 80 % of such comparisons.";

/** Give the tables, and how to read them. */
export function contrastTables(comparison) {
  const pairs = grouped(comparison.contrasts, ({ method, baseline }) => JSON.stringify([method, baseline]));
  const spans = spansOf(comparison.contrasts);
  return [...[...pairs.values()].map((rows) => pairTable(rows, spans)), legend(comparison)];
}

const INTERVALS = {
  "expanded percentile": "bootstrap",
  t: "Student’s t, as fewer than 8 are too few to draw from",
  bounded: "an exact bound, as all differences are equal",
};

function legend({ family, level, cluster_by: cluster, contrasts }) {
  return h("p", { class: "soft small" },
    `p is corrected (${family.correction}) over ${family.told}. `, incapable(family),
    `Each interval is of its difference alone, ${percent(level)}${intervalsTold(contrasts, cluster)}. `, HOW_TO_READ);
}

/** Name how the intervals were computed, and which of them how if it is not one way for all. */
function intervalsTold(contrasts, cluster) {
  const ways = [...grouped(contrasts.filter((one) => one.interval), (one) => one.interval.method)];
  if (!ways.length) return "";
  const names = (rows) => rows.map(({ metric, group }) => (group ? `${metric} (${group})` : metric));
  const said = ways.map(([way, rows]) =>
    (ways.length > 1 ? `${INTERVALS[way]} (${[...new Set(names(rows))].join(", ")})` : INTERVALS[way]));
  return `, by ${said.join("; ")}${cluster ? `, over whole clusters of ${cluster}` : ""}`;
}

const incapable = ({ tests, counted }) => (tests > counted
  ? `p is multiplied by ${count(counted)} (Tarone), as the others could not have come below the level, `
    + "whichever way the questions that differ had gone. "
  : "");

/** Give the axis of each metric, which all of its rows share; zero is in its middle. */
function spansOf(contrasts) {
  const metrics = grouped(contrasts, ({ metric }) => metric);
  return new Map([...metrics].map(([metric, own]) => {
    const most = Math.max(...axis(own.map(figureOf)).map(Math.abs));
    return [metric, [-most, most]];
  }));
}

const figureOf = ({ difference, interval: found }) => ({ at: difference, low: found?.low, high: found?.high });

function pairTable(rows, spans) {
  const [{ method, baseline }] = rows;
  const poles = h("span", { class: "poles" }, h("span", null, "← lower"), h("span", null, "higher →"));
  const head = headRow("metric", "difference [interval]", [poles, "wide-only"], ["p", "num"], "won · tied · lost", "found");
  return h("section", { class: "sheet", "aria-label": `${method} against ${baseline}` },
    h("h2", null, data(method), h("span", { class: "soft" }, " against "), data(baseline)),
    h("div", { class: "scroll" }, h("table", { class: "figures contrasts" }, head,
      h("tbody", null, rows.map((one) => row(one, spans.get(one.metric)))))));
}

function row(one, span) {
  const said = differenceTold(one);
  const tone = TONES[one.verdict] ?? "";
  return h("tr", { class: one.group ? "grouped" : "" },
    about(one),
    h("td", { class: "mean" }, said, means(one)),
    h("td", { class: "wide-only" }, one.difference === null ? null : interval(figureOf(one), span, { zero: 0, tone, told: said })),
    h("td", { class: "num", "data-label": "p" }, tested(one.test)),
    h("td", { "data-label": "won · tied · lost" }, tally(one)),
    h("td", null, badge(verdict(one), tone || "plain"), alike(one), changed(one), missing(one)));
}

const about = ({ metric, group, better }) =>
  h("th", { scope: "row" },
    h("span", { class: "mono" }, data(metric)),
    group ? h("div", { class: "soft", dir: "auto" }, group) : null,
    better === "lower" ? h("div", { class: "soft small" }, "lower is better") : null);

function differenceTold({ difference, interval: found }) {
  if (difference === null) return "–";
  const write = decimals(difference, found?.low, found?.high);
  const ends = found ? ` [${signed(write, found.low)}, ${signed(write, found.high)}]` : "";
  return `${signed(write, difference)}${ends}`;
}

function means({ method_mean: own, baseline_mean: other, n, questions }) {
  const write = decimals(own ?? 0, other ?? 0);
  const said = own === null || own === undefined ? "" : `${write(own)} against ${write(other)}, `;
  return h("div", { class: "soft small" }, `${said}n = ${count(n)} of ${count(questions)}`);
}

const tested = (test) => (test
  ? [pValue(test.corrected), h("div", { class: "soft small", title: test.name }, `raw ${pValue(test.p)}`)]
  : "–");

function tally({ won, tied, lost }) {
  const whole = won + tied + lost;
  const parts = [["won", won, "good"], ["tied", tied, "plain"], ["lost", lost, "bad"]];
  const said = parts.map(([word, many]) => `${many} ${word}`).join(", ");
  const fills = parts.map(([, many, tone]) => h("span", { class: `meter-fill ${tone}`, size: many / whole }));
  return h("div", { class: "tally" },
    h("span", { class: "tally-words" }, `${won} · ${tied} · ${lost}`, h("span", { class: "unseen" }, ` (${said})`)),
    h("span", { class: "meter", "aria-hidden": "true" }, whole ? fills : null));
}

function verdict(one) {
  if (one.verdict === "nothing to compare") return "no question has both figures";
  if (one.verdict === "changed") return `changed on ${count(one.won + one.lost)} of ${count(one.n)} questions`;
  if (one.verdict !== "no difference seen" || one.detectable === null) return one.verdict;
  return `no difference seen (could miss < ${decimals(one.detectable)(one.detectable)})`;
}

/** Name the questions that were lost and won, as many as the answer names; null if no question differs. */
function changed({ won, lost, won_questions: ownWon, lost_questions: ownLost }) {
  const rows = [["lost", lost, ownLost], ["won", won, ownWon]].filter(([, many]) => many);
  if (!rows.length) return null;
  return h("details", { class: "soft small" }, h("summary", null, "which questions"),
    rows.map(([word, many, ids]) => h("p", { dir: "auto" }, `${word}: `, data(ids.join(", ")), rest(many - ids.length))));
}

const rest = (more) => (more > 0 ? ` and ${count(more)} more (greval compare RUN --format json names all)` : "");

const alike = ({ judged_alike: same }) => (same ? null : badge("judged differently", "bad"));

/** Say which questions have no figure, and why. */
function missing({ method_left_out: own, baseline_left_out: other, method, baseline }) {
  const rows = [[method, own], [baseline, other]].map(([name, left]) => {
    const counts = Object.entries(left ?? {}).filter(([, many]) => many);
    const said = counts.map(([why, many]) => `${many} ${why.replaceAll("_", " ")}`).join(", ");
    return said ? h("li", null, data(name), `: ${said}`) : null;
  });
  return rows.some(Boolean) ? h("ul", { class: "soft small bare" }, rows) : null;
}

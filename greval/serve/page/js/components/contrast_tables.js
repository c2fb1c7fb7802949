/** The tables of a comparison: one for each pair of methods, a row for each metric and group of questions. */

import { count, decimals, pValue, percent, signed } from "../format.js";
import { groupBy } from "../grouping.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { Badge } from "./badge.js";
import { IntervalAxis, IntervalPlot } from "./interval_plot.js";
import { TableHead } from "./table.js";

/** The tones of verdicts. */
export const TONES = { better: "good", worse: "bad" };
const NO_NAME = "(none)";
const NAMELESS = [NO_NAME, "now"]; // how a comparison names the cases without a method
const HOW_TO_READ = "MDD: the minimum detectable difference at 80 % power; a smaller one would be missed by more than 20 % "
  + "of such comparisons. Won, tied and lost count questions that both methods have a figure of.";
const WEIGHTED = "each number is weighted by the probabilities that the judge gave to the values, and so is the mean";
const INTERVALS = {
  "expanded percentile": "bootstrap",
  t: "Student’s t, as fewer than 8 are too few to draw from",
  bounded: "an exact bound, as all differences are equal",
};

/** The tables, and how to read them, with links to the cases of the run that differ; `names` writes names of runs for ids. */
export function ContrastTables({ run, comparison, names }) {
  const pairs = groupBy(comparison.contrasts, ({ method, baseline }) => JSON.stringify([method, baseline]));
  return html`
    ${[...pairs].map(([key, contrasts]) => html`<${PairTable} key=${key} contrasts=${contrasts} axes=${comparison.axes} names=${names} address=${createAddresses(run, comparison)} />`)}
    <${Legend} ...${comparison} />`;
}

/** Return a function that gives the address of the cases on which a method is better or worse. */
function createAddresses(run, { by, against }) {
  const tagOf = (group) => (group && by.length === 1 && by[0] !== "method" ? `${by[0]}:${group}` : null);
  const methodOf = (side) => (NAMELESS.slice(0, against ? 2 : 1).includes(side) ? "" : side);
  return ({ metric, method, baseline, group }, change) => at(["runs", run], {
    tab: "cases", metric, method: methodOf(method), beside: against ? `run:${against}` : `method:${methodOf(baseline)}`, change,
    tag: tagOf(group), sort: metric,
  });
}

function Legend({ family, level, cluster_by: cluster, contrasts, levels }) {
  return html`
    <p class="soft small">
      Multiple-comparison correction: ${family.correction}, over ${family.told}. ${describeIncapable(family)}Confidence intervals: ${percent(level)}, uncorrected${describeIntervals(contrasts, cluster)}. ${HOW_TO_READ}${describeWeighting(levels)}
    </p>`;
}

/** Describe which metrics have weighted means, with the means of the values themselves. */
function describeWeighting(levels) {
  const weighted = groupBy(levels.filter(({ group, plain_mean: plain }) => !group && typeof plain === "number"), ({ metric }) => metric);
  return [...weighted].map(([metric, rows]) =>
    ` ${metric}: ${WEIGHTED}; unweighted means: ${rows.map(({ method, plain_mean: plain }) => `${method || NO_NAME} ${decimals(plain)(plain)}`).join(", ")}.`).join("");
}

/** Describe how the intervals were computed, each way with its metrics if there are several. */
function describeIntervals(contrasts, cluster) {
  const ways = [...groupBy(contrasts.filter((one) => one.interval), (one) => one.interval.method)];
  if (!ways.length) return "";
  const names = (rows) => [...new Set(rows.map(({ metric, group }) => (group ? `${metric} (${group})` : metric)))];
  const parts = ways.map(([way, rows]) => (ways.length > 1 ? `${INTERVALS[way]} (${names(rows).join(", ")})` : INTERVALS[way]));
  return `, by ${parts.join("; ")}${cluster ? `, over whole clusters of ${cluster}` : ""}`;
}

const describeIncapable = ({ tests, counted }) => (tests > counted
  ? `The correction multiplies p by ${count(counted)} at most (Tarone), because the other tests could not have been `
    + "significant in any case. "
  : "");

function PairTable({ contrasts, axes, names, address }) {
  const [{ method, baseline }] = contrasts;
  const [name, other] = [names(method || NO_NAME), names(baseline || NO_NAME)];
  const groups = axes.map(({ unit, end, metrics }) => [unit, [-end, end], contrasts.filter(({ metric }) => metrics.includes(metric))])
    .filter(([, , rows]) => rows.length);
  const poles = html`<span class="poles"><span>← lower</span><span>higher →</span></span>`;
  const columns = ["metric", "difference [interval]", [poles, "wide-only"], ["p", "num"], "won · tied · lost", "found"];
  return html`
    <section class="sheet" aria-label=${`${name} against ${other}`}>
      <h2><bdi>${name}</bdi><span class="soft"> against </span><bdi>${other}</bdi></h2>
      <div class="scroll"><table class="figures contrasts">
        <${TableHead} columns=${columns} />
        ${groups.map(([unit, span, rows]) => html`
          <tbody key=${rows[0].metric}>
            ${rows.map((one) => html`<${ContrastRow} key=${`${one.metric} ${one.group}`} contrast=${one} span=${span} address=${address} />`)}
            <tr class="axis-row wide-only"><td colspan="2" /><td><${IntervalAxis} span=${span} unit=${unit} /></td><td colspan="3" /></tr>
          </tbody>`)}
      </table></div>
    </section>`;
}

function ContrastRow({ contrast, span, address }) {
  const difference = formatDifference(contrast);
  const tone = TONES[contrast.verdict] ?? "";
  const { metric, group, better, interval, test } = contrast;
  return html`
    <tr class=${group ? "grouped" : ""}>
      <th scope="row">
        <span class="mono"><bdi>${metric}</bdi></span>
        ${group && html`<div class="soft" dir="auto">${group}</div>`}
        ${better === "lower" && html`<div class="soft small">lower is better</div>`}
      </th>
      <td class="mean">${difference}${[formatRelative(contrast), formatMeans(contrast)].map((line) => line && html`<div class="soft small">${line}</div>`)}</td>
      <td class="wide-only">${contrast.difference !== null && html`
        <${IntervalPlot} value=${contrast.difference} low=${interval?.low} high=${interval?.high} span=${span} zero=${0} tone=${tone} label=${difference} />`}</td>
      <td class="num" data-label="p">${test ? html`${pValue(test.corrected)}<div class="soft small" title=${test.name}>raw ${pValue(test.p)}</div>` : "–"}</td>
      <td data-label="won · tied · lost"><${Tally} ...${contrast} address=${(change) => address(contrast, change)} /></td>
      <td>
        <${Badge} tone=${tone || "plain"}>${describeVerdict(contrast)}<//>
        ${!contrast.judged_alike && html`<${Badge} tone="bad">judged differently<//>`}
        <${ChangedQuestions} ...${contrast} />
        <${LeftOut} ...${contrast} />
      </td>
    </tr>`;
}

/** A difference with its interval, if it has one. */
export function formatDifference({ difference, interval }) {
  if (difference === null) return "–";
  const write = decimals(difference, interval?.low, interval?.high);
  const ends = interval ? ` [${signed(write, interval.low)}, ${signed(write, interval.high)}]` : "";
  return `${signed(write, difference)}${ends}`;
}

function formatRelative({ relative_difference: size, relative_interval: interval }) {
  if (typeof size !== "number") return "";
  const write = (share) => `${signed(decimals(100), 100 * share)} %`;
  return `relative ${write(size)}${interval ? ` [${write(interval.low)}, ${write(interval.high)}]` : ""}`;
}

function formatMeans({ method_mean: own, baseline_mean: other, n, questions }) {
  const write = decimals(own ?? 0, other ?? 0);
  const means = own === null || own === undefined ? "" : `${write(own)} against ${write(other)}, `;
  return `${means}n = ${count(n)} of ${count(questions)}`;
}

function Tally({ won, tied, lost, address }) {
  const total = won + tied + lost;
  const parts = [["won", won, "good"], ["tied", tied, "plain"], ["lost", lost, "bad"]];
  return html`
    <div class="tally">
      <span class="tally-words">
        <${CasesLink} many=${won} word="won" address=${address} />${` · ${tied} · `}<${CasesLink} many=${lost} word="lost" address=${address} /><span class="unseen">${` (${parts.map(([word, many]) => `${many} ${word}`).join(", ")})`}</span>
      </span>
      <span class="meter" aria-hidden="true">
        ${total > 0 && parts.map(([, many, tone]) => html`<span class=${`meter-fill ${tone}`} style=${{ width: `${(100 * many) / total}%` }} />`)}
      </span>
    </div>`;
}

const CasesLink = ({ many, word, address }) => (many
  ? html`<a class="plain-link" href=${address(word)} aria-label=${`${many} ${word}: show the cases`}>${many}</a>`
  : many);

function describeVerdict({ verdict, won, lost, n, detectable }) {
  if (verdict === "nothing to compare") return "no question has both figures";
  if (verdict === "changed") return `changed on ${count(won + lost)} of ${count(n)} questions`;
  if (verdict !== "no difference seen" || detectable === null) return verdict;
  return `no difference seen (MDD ${decimals(detectable)(detectable)})`;
}

/** The questions that were lost and won, as many as the answer names; nothing if no question differs. */
function ChangedQuestions({ won, lost, won_questions: wonIds, lost_questions: lostIds }) {
  const rows = [["lost", lost, lostIds], ["won", won, wonIds]].filter(([, many]) => many);
  if (!rows.length) return null;
  return html`
    <details class="soft small">
      <summary>which questions</summary>
      ${rows.map(([word, many, ids]) => html`<p dir="auto">${word}: <bdi>${ids.join(", ")}</bdi>${describeRest(many - ids.length)}</p>`)}
    </details>`;
}

const describeRest = (more) => (more > 0 ? ` and ${count(more)} more (greval compare RUN --format json names all)` : "");

/** Which questions have no figure, and why. */
function LeftOut({ method_left_out: own, baseline_left_out: other, method, baseline }) {
  const rows = [[method, own], [baseline, other]]
    .map(([name, left]) => [name || NO_NAME, Object.entries(left ?? {}).filter(([, many]) => many)])
    .filter(([, counts]) => counts.length);
  if (!rows.length) return null;
  return html`
    <ul class="soft small bare">${rows.map(([name, counts]) => html`
      <li><bdi>${name}</bdi>: ${counts.map(([why, many]) => `${many} ${why.replaceAll("_", " ")}`).join(", ")}</li>`)}</ul>`;
}

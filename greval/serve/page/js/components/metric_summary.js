/** A metric of a run: counts, mean with its interval, distribution, failures and skips, one row a group. */

import { count, counted, decimals, figure } from "../format.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { describeScale, endsOf } from "../scale.js";
import { Badge } from "./badge.js";
import { DistributionLegend, DistributionPlot } from "./distribution_plot.js";
import { WHAT_TO_DO } from "./failure_details.js";
import { IntervalPlot, findSpan } from "./interval_plot.js";
import { MetricLink, TableHead } from "./table.js";
import { Text } from "./text.js";

const STATUSES = ["scored", "skipped", "failed"];
const WEIGHTED = "Each number is weighted by the probabilities that the judge gave to the values, and so is the mean; "
  + "plain is the unweighted mean.";
const NO_VALUE = "(none)"; // the group of cases without a method or without the tag, as the report names it

/**
 * The summary of one metric.
 * @param {string} run its id
 * @param {string} name of the metric
 * @param {Array} summaries one for each group
 * @param {Object} metric its definition, undefined if it is not known
 * @param {Array} listed the values of its scale as the report lists them
 * @param {Array} by what the groups are named by
 * @param {number} pending how many cases are not judged yet
 */
export function MetricSummary({ run, name, summaries, metric, listed, by, pending }) {
  const scale = metric?.scale ?? null;
  const span = endsOf(scale) ?? findSpan(summaries.map(readFigure));
  const context = { scale, listed, span, by, address: createAddresses(run, name, by) };
  const columns = [
    ...(by.length ? [[by.join(" · "), "group"]] : []), ...["planned", ...STATUSES].map((word) => [word, "num"]),
    ["mean [95 %]", "mean"], [`${figure(span[0])} to ${figure(span[1])}`, "wide-only"], ["values", "values"],
  ];
  return html`
    <section class="sheet summary" aria-labelledby=${`summary-${name}`}>
      <header class="verdict-head">
        <h2 class="mono" id=${`summary-${name}`}><${MetricLink} name=${name} /></h2>
        <span class="soft small">${describeScale(scale)}</span>
        <a class="small" href=${at(["runs", run], { tab: "cases", metric: name, sort: name })}>Worst cases<span class="unseen"> of ${name}</span></a>
        <a class="small" href=${at("history", { metric: name })}>History<span class="unseen"> of ${name}</span></a>
      </header>
      <div class="scroll"><table class="figures">
        <${TableHead} columns=${columns} />
        <tbody>${summaries.map((summary) => html`<${SummaryRow} key=${summary.group} summary=${summary} ...${context} />`)}</tbody>
      </table></div>
      <${DistributionLegend} summaries=${summaries} scale=${scale} listed=${listed} />
      ${summaries.some(isWeighted) && html`<p class="soft small">${WEIGHTED}</p>`}
      <${FailuresAndSkips} summaries=${summaries} ...${context} />
      ${pending > 0 && html`<p class="warn-text small">${counted(pending, "case")} not judged yet.</p>`}
    </section>`;
}

/** Return a function that gives the address of the results behind a number. */
function createAddresses(run, name, by) {
  const only = by.length === 1 ? by[0] : null;
  const groupQuery = ({ group }) => {
    if (only === "method") return { method: group === NO_VALUE ? "" : group };
    return only && group !== NO_VALUE ? { tag: `${only}:${group}` } : {};
  };
  return (summary, query) => at(["runs", run], { tab: "cases", metric: name, ...groupQuery(summary), ...query });
}

const isWeighted = ({ plain_mean: plain }) => typeof plain === "number";

const readFigure = ({ mean, interval }) => ({ value: mean, low: interval?.low, high: interval?.high });

function SummaryRow({ summary, scale, listed, span, address, by }) {
  const mean = formatMean(summary);
  return html`
    <tr>
      ${by.length > 0 && html`<th scope="row" class="group" dir="auto">${summary.group || "–"}</th>`}
      <td class="num" data-label="planned">${count(summary.planned)}</td>
      ${STATUSES.map((status) => html`
        <td class="num" data-label=${status}>
          <${CountLink} many=${summary[status]} status=${status} href=${address(summary, { status })} />
          ${status === "scored" && summary.items_failed > 0 && html`
            <span class="small bad-text" title="single items that failed"> −${counted(summary.items_failed, "item")}</span>`}
        </td>`)}
      <td class="mean">${mean}<${Moments} ...${summary} /></td>
      <td class="wide-only">${summary.mean !== null && html`<${IntervalPlot} ...${readFigure(summary)} span=${span} label=${mean} />`}</td>
      <td class="values">
        <${DistributionPlot} summary=${summary} scale=${scale} listed=${listed} href=${(value) => address(summary, { value })} />
      </td>
    </tr>`;
}

const CountLink = ({ many, status, href }) => (many
  ? html`<a class=${status === "failed" ? "bad-link" : "plain-link"} href=${href} aria-label=${`${count(many)} ${status}`}>${count(many)}</a>`
  : count(many));

/** Format a mean with its interval and the number of its values. */
function formatMean({ mean, interval, counted: many, plain_mean: plain }) {
  if (mean === null) return "–";
  const write = decimals(mean, interval?.low, interval?.high);
  return `${write(mean)} ${interval ? `[${write(interval.low)}, ${write(interval.high)}]` : "[no interval]"}  n = ${count(many)}${isWeighted({ plain_mean: plain }) ? `, plain ${decimals(plain)(plain)}` : ""}`;
}

/** Median, standard deviation and ends of the numbers; nothing if there are not two of them. */
const Moments = ({ median, standard_deviation: deviation, minimum, maximum }) => typeof deviation === "number" && html`
  <div class="soft small">median ${figure(median)}, sd ${figure(deviation)}, ${figure(minimum)} to ${figure(maximum)}</div>`;

/** What failed, with what to do, and what was skipped, each with a link to the results. */
function FailuresAndSkips({ summaries, address, by }) {
  const rows = summaries.flatMap((summary) => [
    ...Object.entries(summary.failures).map(([kind, many]) => ["failed", kind, many, WHAT_TO_DO[kind] ?? "", summary]),
    ...Object.entries(summary.skips).map(([reason, many]) => ["skipped", "skipped", many, reason, summary]),
  ]);
  if (!rows.length) return null;
  const named = by.length > 0 && summaries.length > 1;
  return html`
    <ul class="troubles small">${rows.map(([status, word, many, text, summary]) => html`
      <li>
        <a class=${status === "failed" ? "bad-link" : "plain-link"} href=${address(summary, { status })}><${Badge} tone=${status === "failed" ? "bad" : "plain"}>${word}<//> ${count(many)}</a>
        ${named && html`<span class="soft" dir="auto"> ${summary.group}</span>`} <${Text} class="soft">${text}<//>
      </li>`)}</ul>`;
}

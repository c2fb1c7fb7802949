/** The history: each metric over the newest runs, the oldest first, and the runs from which on it changed. */

import { get } from "../api.js";
import { Badge } from "../components/badge.js";
import { TONES, formatDifference } from "../components/contrast_tables.js";
import { Field, Select, nameOptions, withCurrent } from "../components/fields.js";
import { IntervalPlot, findSpan } from "../components/interval_plot.js";
import { EmptyState, Problem } from "../components/notices.js";
import { MetricLink, TableHead } from "../components/table.js";
import { ViewHead } from "../components/view_head.js";
import { count, date, figure as formatNumber, formatMean, percent } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const MAX_LISTED = 100;
const MAX_SHOWN = 30;
const COMMIT_CHARACTERS = 8;

/** The choice of a metric, and its history; without a choice that of all metrics. */
export function HistoryView({ query }) {
  const metric = query.get("metric");
  const { data: runs, error, reload } = useRequest(loadJudgedRuns, []);
  const metrics = [...new Set(runs?.flatMap((run) => run.metrics))].toSorted();
  return html`
    <${ViewHead} crumbs=${[["#/runs", "Runs"]]} title="History" lead="Each metric over the runs, oldest first, and where it changed." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${runs && html`
      <form class="filters-row" onSubmit=${(event) => event.preventDefault()}>
        <${Field} label="Metric">
          <${Select} options=${withCurrent(nameOptions("all", metrics), metric)} value=${metric} onChange=${(name) => go(at("history", { metric: name }))} />
        <//>
      </form>
      <div class="stack">
        <${History} metric=${metric} ids=${runs.filter((run) => metric === null || run.metrics.includes(metric)).map(({ id }) => id)} />
      </div>`}`;
}

/** Load the newest runs with results, without probes and alignments. */
async function loadJudgedRuns(signal) {
  const { runs } = await get("/v1/runs", { limit: MAX_LISTED }, signal);
  return runs.filter((run) => run.kind === "run" && hasResults(run));
}

/** Return whether a run has results; those of the command line have no progress. */
const hasResults = ({ progress, status }) => (progress ? progress.done > 0 : status === "finished" || status === "stopped");

function History({ metric, ids }) {
  const load = async (signal) => (ids.length > 1 ? get("/v1/history", { metric, run: ids.slice(0, MAX_SHOWN) }, signal) : null);
  const { data: history, error, loading, reload } = useRequest(load, [metric]);
  if (loading) return html`<${EmptyState} busy title="Reading the runs…" />`;
  if (error) return html`<${Problem} error=${error} retry=${error.code === "invalid_data" ? null : reload} />`;
  if (!history) {
    return html`
      <${EmptyState} title="A history needs two runs.">
        ${`Of the newest ${MAX_LISTED} runs, ${ids.length} ${ids.length === 1 ? "has" : "have"} results${metric ? ` of ${metric}` : ""}. `}<a href=${at("new-run", { metric })}>Start one</a>.
      <//>`;
  }
  return html`
    ${history.findings.map((line) => html`<p class="finding" dir="auto">${line}</p>`)}
    ${history.metrics.map((line) => html`<${RunTable} key=${`${line.metric} ${line.method}`} history=${history} line=${line} />`)}
    ${history.legend.map((line) => html`<p class="soft small">${line}</p>`)}`;
}

/** A metric of a method: a row for each run, with its mean on an axis that all runs share. */
function RunTable({ history, line: { metric, method, better, points, changes } }) {
  const span = findSpan(points.map(readFigure));
  const verdicts = new Map(changes.map(({ run, verdict }) => [run, verdict]));
  const columns = ["run", [`mean [${percent(history.level)}]`, "mean"], [span.map(formatNumber).join(" to "), "wide-only"], ["n", "num"], "from before", "change"];
  return html`
    <section class="sheet" aria-label=${method ? `${metric} of ${method}` : metric}>
      <h2><span class="mono"><${MetricLink} name=${metric} /></span>${method && html`<span class="soft"> of </span><bdi>${method}</bdi>`}</h2>
      ${better === "lower" && html`<p class="soft small">lower is better</p>`}
      <div class="scroll"><table class="figures contrasts">
        <${TableHead} columns=${columns} />
        <tbody>${points.map((point) => html`
          <${PointRow} key=${point.run} point=${point} run=${history.runs[point.run]} span=${span} verdict=${verdicts.get(point.run)} />`)}</tbody>
      </table></div>
    </section>`;
}

const readFigure = ({ mean, interval }) => ({ value: mean, low: interval?.low, high: interval?.high });

function PointRow({ point, run: { folder: id, label, began, commit }, span, verdict }) {
  const mean = formatMean(point);
  const difference = formatDifference({ difference: point.difference, interval: point.difference_interval });
  const others = point.difference !== null && !point.paired && html`<div class="soft small">other questions</div>`;
  return html`
    <tr>
      <th scope="row">
        <a href=${at(["runs", id])} dir="auto">${label}</a>
        <div class="small soft">${date(began)}${commit && html` · <span class="mono">${commit.slice(0, COMMIT_CHARACTERS)}</span>`}</div>
      </th>
      <td class="mean">${mean}</td>
      <td class="wide-only"><${IntervalPlot} ...${readFigure(point)} span=${span} tone=${TONES[verdict] ?? ""} label=${mean} /></td>
      <td class="num" data-label="n">${count(point.n)}</td>
      <td class="mean" data-label="from before">${difference}${others}</td>
      <td>
        ${verdict && html`<${Badge} tone=${TONES[verdict]}>${verdict}<//>`}
        ${point.marks.length > 0 && html`<${Badge} tone="warn">new ${point.marks.join(" and ")}<//> <span class="soft small">not compared with the runs before</span>`}
      </td>
    </tr>`;
}

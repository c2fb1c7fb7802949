/** A metric over the runs that judged by it: its mean in each of them, the newest last, on one axis. */

import { useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { count, date, figure as formatNumber, formatMean } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { endsOf } from "../scale.js";
import { IntervalPlot, findSpan } from "./interval_plot.js";
import { EmptyState, Problem } from "./notices.js";
import { TableHead } from "./table.js";

const MAX_RUNS = 100;
const MAX_SHOWN = 12;

/** The means in the newest runs, which are requested once they are opened. */
export function MetricHistory({ metric }) {
  const [opened, setOpened] = useState(false);
  return html`
    <details class="history" onToggle=${({ target }) => target.open && setOpened(true)}>
      <summary>In the runs so far</summary>
      ${opened && html`<${History} metric=${metric} />`}
    </details>`;
}

function History({ metric: { name, scale } }) {
  const { data, error, reload } = useRequest((signal) => loadRows(name, signal), [name]);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="soft">Reading the runs…</p>`;
  if (!data.length) return html`<${EmptyState} title="No run judged by it yet."><a href=${at("new-run", { metric: name })}>Start one</a>.<//>`;
  const means = data.map(({ summary: { mean, interval } }) => ({ value: mean, low: interval?.low, high: interval?.high }));
  const span = endsOf(scale) ?? findSpan(means);
  return html`
    <div class="scroll"><table class="figures">
      <${TableHead} columns=${["run", "method", ["n", "num"], ["mean [95 %]", "mean"], span.map(formatNumber).join(" to ")]} />
      <tbody>${data.map(({ run, summary }, place) => {
        const text = formatMean(summary);
        return html`
          <tr>
            <th scope="row"><a href=${at(["runs", run.id])} dir="auto">${run.name || run.id}</a> <span class="small soft">${date(run.created)}</span></th>
            <td dir="auto" data-label="method">${summary.group || "–"}</td>
            <td class="num" data-label="n">${count(summary.counted)}</td>
            <td class="mean">${text}</td>
            <td>${summary.mean !== null && html`<${IntervalPlot} ...${means[place]} span=${span} label=${text} />`}</td>
          </tr>`;
      })}</tbody>
    </table></div>
    <p class="small soft">Runs may differ in their cases, judge and definition; a <a href="#/compare">comparison</a> says whether a difference is more than chance.</p>`;
}

/** Return the summaries of a metric in the newest runs that judged by it, the oldest first. */
async function loadRows(name, signal) {
  const { runs } = await get("/v1/runs", { limit: MAX_RUNS }, signal);
  const judged = runs.filter(({ kind, metrics, progress }) => kind === "run" && metrics.includes(name) && progress?.done !== 0).slice(0, MAX_SHOWN);
  const rows = await Promise.all(judged.reverse().map(async (run) => {
    const report = await get(`/v1/runs/${part(run.id)}/report`, {}, signal).catch((error) => {
      if (error.name === "AbortError") throw error;
      return { summaries: [] }; // such as a run that was deleted meanwhile
    });
    return report.summaries.filter(({ metric }) => metric === name).map((summary) => ({ run, summary }));
  }));
  return rows.flat();
}

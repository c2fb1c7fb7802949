/** The summary of a run: each metric with its figures, and what its judge was asked. */

import { get, name as part } from "../api.js";
import { knownMetrics } from "../catalogue.js";
import { Select, withCurrent } from "../components/fields.js";
import { MetricSummary } from "../components/metric_summary.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { TableHead } from "../components/table.js";
import { count, counted, dollars } from "../format.js";
import { groupBy } from "../grouping.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const MAX_ROWS = 5;

/** The summary; it is requested again when `version` changes. */
export function RunSummary({ run, query, version }) {
  const by = query.get("by");
  const ungrouped = useRequest((signal) => loadReport(run.id, null, signal), [run.id, version]);
  const grouped = useRequest(async (signal) => (by ? loadReport(run.id, by, signal) : null), [run.id, by, version]);
  const duel = useRequest(async (signal) => (run.kind === "duel" ? get(`/v1/runs/${part(run.id)}/duel`, {}, signal) : null), [run.id, version]);
  const { data, error, reload } = by ? grouped : ungrouped;
  const form = ungrouped.data && html`<${GroupingForm} run=${run} by=${by} report=${ungrouped.data.report} />`;
  if (error) return html`${form}<${Problem} error=${error} retry=${error.code === "invalid_data" ? null : reload} />`;
  if (!data) return form;
  const { report, metrics } = data;
  const groups = groupBy(report.summaries, ({ metric }) => metric);
  return html`
    ${[...(report.findings ?? []), ...(duel.data?.findings ?? [])].map((line) => html`<p class="finding" dir="auto">${line}</p>`)}
    ${[...(duel.data?.warnings ?? []), ...(report.warnings ?? [])].map((text) => html`<p class="warn-text" dir="auto">${text}</p>`)}
    ${form}
    ${[...groups].map(([name, summaries]) => html`
      <${MetricSummary} key=${name} run=${run.id} name=${name} summaries=${summaries} metric=${metrics.get(name)}
        listed=${report.scales?.[name]} by=${report.by} pending=${report.pending?.[name]} />`)}
    ${!groups.size && html`<${EmptyState} title="No judgement yet.">They appear here as they are made.<//>`}
    <${UnreadRows} report=${report} />
    ${report.stopped?.map((why) => html`<p class="warn-text small">Stopped: ${why}.</p>`)}
    ${report.others > 0 && html`
      <p class="soft small">${counted(report.others, "row")} of other cases, answers, judges or definitions: not counted.</p>`}
    <${Spending} report=${report} />`;
}

async function loadReport(id, by, signal) {
  const report = await get(`/v1/runs/${part(id)}/report`, { by }, signal);
  return { report, metrics: await knownMetrics(report.summaries.map(({ metric }) => metric), signal) };
}

/** The choice of a tag to group by, if the cases have any. */
function GroupingForm({ run, by, report: { by: usual, tags } }) {
  const options = [[null, usual.join(" · ") || "nothing"], ...tags.map((tag) => [tag, tag])];
  return options.length > 1 && html`
    <form class="inline-form" onSubmit=${(event) => event.preventDefault()}>
      <label for="by">Group by</label>
      <${Select} id="by" options=${withCurrent(options, by)} value=${by} onChange=${(tag) => go(at(["runs", run.id], { by: tag }))} />
    </form>`;
}

function UnreadRows({ report }) {
  const many = Math.max(report.unread_count ?? 0, report.unread?.length ?? 0);
  if (!many) return null;
  return html`
    <${Notice} tone="warn">
      <p>${counted(many, "row")} of the data could not be read and ${many === 1 ? "was" : "were"} passed over:</p>
      <ul class="faults">
        ${report.unread.slice(0, MAX_ROWS).map((row) => html`<li dir="auto">${row}</li>`)}
        ${many > MAX_ROWS && html`<li>and ${count(many - MAX_ROWS)} more</li>`}
      </ul>
    <//>`;
}

const COUNTS = { calls: "calls", hits: "reused", input_tokens: "tokens in", cached_tokens: "cached", output_tokens: "out" };

/** What the judge was asked for each metric: calls, tokens and cost; nothing if it was not asked. */
function Spending({ report: { spending, by } }) {
  const rows = spending.filter(({ usage }) => usage.calls || usage.hits);
  if (!rows.length) return null;
  const total = Object.fromEntries(Object.keys(COUNTS).map((field) => [field, rows.reduce((sum, { usage }) => sum + (usage[field] ?? 0), 0)]));
  const costs = rows.filter(({ usage }) => usage.calls).map(({ cost }) => cost);
  const cost = costs.length && !costs.includes(null) ? costs.reduce((sum, one) => sum + one, 0) : null;
  const columns = ["metric", ...(by.length ? [by.join(" · ")] : []), ...[...Object.values(COUNTS), "cost"].map((word) => [word, "num"])];
  return html`
    <section class="sheet" aria-labelledby="spending">
      <h2 id="spending">What the judge was asked</h2>
      <div class="scroll"><table class="figures">
        <${TableHead} columns=${columns} />
        <tbody>
          ${rows.map((row) => html`<${SpendingRow} ...${row} group=${by.length ? row.group : null} />`)}
          ${rows.length > 1 && html`<${SpendingRow} metric="all" group=${by.length ? "" : null} usage=${total} cost=${cost} />`}
        </tbody>
      </table></div>
    </section>`;
}

const SpendingRow = ({ metric, group, usage, cost }) => html`
  <tr>
    <th scope="row" class="mono" dir="auto">${metric}</th>
    ${group !== null && html`<td dir="auto">${group}</td>`}
    ${Object.entries(COUNTS).map(([field, word]) => html`<td class="num" data-label=${word}>${usage[field] === null ? "–" : count(usage[field])}</td>`)}
    <td class="num" data-label="cost">${cost === null ? "–" : dollars(cost)}</td>
  </tr>`;

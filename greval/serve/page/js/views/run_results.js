/** The results of a run, one a row, filtered by metric, method, status, value and tag. */

import { useLayoutEffect } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { get, name as part } from "../api.js";
import { knownMetrics } from "../catalogue.js";
import { Badge, OutcomeBadge } from "../components/badge.js";
import { failuresOf } from "../components/failure_details.js";
import { Field, Select, TextEntry, nameOptions } from "../components/fields.js";
import { EmptyState, Problem } from "../components/notices.js";
import { CaseCell, TableHead } from "../components/table.js";
import { Text } from "../components/text.js";
import { ValueChip } from "../components/value_chip.js";
import { counted } from "../format.js";
import { usePages, useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";
import { valuesOf } from "../scale.js";

const PAGE = 50;
const MAX_ITEMS = 4;
const FILTERS = ["metric", "method", "status", "value", "tag"];
const STATUSES = ["scored", "skipped", "failed"];

/** The results that fit the filters of the address, a page at a time. */
export function RunResults({ run, query }) {
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const { data: metrics } = useRequest((signal) => knownMetrics(run.metrics, signal), [run.id]);
  const load = async (cursor, signal) => {
    const found = await get(`/v1/runs/${part(run.id)}/results`, { ...wanted, cursor, limit: PAGE }, signal);
    return { items: found.results, next: found.next };
  };
  const { items: results, error, loadMore, reload, body } = usePages(load, [run.id, ...Object.values(wanted)]);
  useLayoutEffect(() => {
    if (results) announce(`${counted(results.length, "result")}${loadMore ? " so far" : ""}`);
  }, [results?.length, loadMore === null]);
  if (!metrics) return null;
  return html`
    <${ResultFilters} run=${run} wanted=${wanted} metrics=${metrics} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${results?.length === 0 && html`
      <${EmptyState} title="No result fits.">
        Choose other filters, or <a href=${at(["runs", run.id], { tab: "results" })}>see all results</a>.
      <//>`}
    ${results?.length > 0 && html`
      <div class="sheet scroll"><table class="results">
        <${TableHead} columns=${["case", "metric", "verdict", "reason"]} />
        <tbody ref=${body}>${results.map((result) => html`
          <${ResultTableRow} run=${run.id} result=${result} scale=${metrics.get(result.metric)?.scale} value=${wanted.value} />`)}</tbody>
      </table></div>`}
    ${loadMore && html`<button type="button" onClick=${loadMore}>More</button>`}`;
}

function ResultFilters({ run, wanted, metrics }) {
  const choose = (change) => go(at(["runs", run.id], { tab: "results", ...wanted, ...change }));
  const values = valuesOf(metrics.get(wanted.metric)?.scale) ?? (wanted.value ? [wanted.value] : null);
  const filter = (label, name, names, further = {}) => html`
    <${Field} key=${name} label=${label}>
      <${Select} options=${nameOptions("all", names)} value=${wanted[name]} onChange=${(value) => choose({ [name]: value, ...further })} />
    <//>`;
  return html`
    <div class="filters-row">
      ${filter("Metric", "metric", run.metrics, { value: null })}
      ${run.methods?.length > 1 && filter("Method", "method", run.methods)}
      ${filter("Status", "status", STATUSES)}
      ${values && filter("Value", "value", values)}
      <${Field} key="tag" label="Tag"><${TextEntry} value=${wanted.tag} placeholder="name:value" onChange=${(tag) => choose({ tag: tag || null })} /><//>
    </div>`;
}

function ResultTableRow({ run, result: { sample_id: id, method, metric, outcome }, scale, value }) {
  const lines = listLines(outcome, scale, value);
  const rest = lines.length - MAX_ITEMS;
  return html`
    <tr>
      <${CaseCell} run=${run} id=${id} method=${method} />
      <td class="mono small" dir="auto">${metric}</td>
      <td colspan="2"><div class="lines">
        ${lines.slice(0, MAX_ITEMS).map(({ mark, reason, item }) => html`
          <div class="line">
            <div>${mark}${item && html`<div class="small soft mono" dir="auto">${item}</div>`}</div>
            <p><${Text}>${reason}<//></p>
          </div>`)}
        ${rest > 0 && html`<p class="small soft">and ${counted(rest, "more item")}</p>`}
      </div></td>
    </tr>`;
}

/** Return {mark, reason, item} of each judgement and failure; those with the wanted value come first. */
function listLines(outcome, scale, value) {
  if (outcome.status === "skipped") return [{ mark: html`<${OutcomeBadge} status="skipped" />`, reason: outcome.reason }];
  const rank = (judgement) => Number(String(judgement.value) === value);
  const judgements = (outcome.judgements ?? []).toSorted((a, b) => rank(b) - rank(a));
  return [
    ...failuresOf(outcome).map(({ kind, message, item }) => ({ mark: html`<${Badge} tone="bad">failed: ${kind}<//>`, reason: message, item })),
    ...judgements.map(({ value: own, reason, item }) => ({ mark: html`<${ValueChip} value=${own} scale=${scale} />`, reason, item })),
  ];
}

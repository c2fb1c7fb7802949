/** Comparing the methods of a run: difference with its interval, test, and questions won, tied and lost. */

import { get, name as part } from "../api.js";
import { ContrastTables } from "../components/contrast_tables.js";
import { Downloads } from "../components/downloads.js";
import { Field, Select, TextEntry, nameOptions } from "../components/fields.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const NOT_COMPARABLE = "NOT COMPARABLE";
const CHOICES = ["run", "baseline", "metric", "by"];
const MAX_RUNS = 100;

/** The choice of a run and a baseline, and the comparison. */
export function CompareView({ query }) {
  const wanted = Object.fromEntries(CHOICES.map((name) => [name, query.get(name)]));
  const { data, error, reload } = useRequest((signal) => loadRuns(wanted.run, signal), [wanted.run]);
  return html`
    <${ViewHead} title="Compare methods" lead="Question by question, with how sure each difference is." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && !error && html`
      <${ComparisonForm} ...${data} wanted=${wanted} />
      <div class="stack"><${ComparisonOrNothing} ...${data} wanted=${wanted} /></div>`}`;
}

async function loadRuns(wanted, signal) {
  const { runs } = await get("/v1/runs", { limit: MAX_RUNS }, signal);
  const listed = runs.find(({ id }) => id === wanted);
  const run = wanted ? (listed ?? (await get(`/v1/runs/${part(wanted)}`, {}, signal))) : null;
  return { runs: listed || !run ? runs : [run, ...runs], run };
}

function ComparisonForm({ runs, run, wanted }) {
  const choose = (change) => go(at("compare", { ...wanted, ...change }));
  const names = runs.map(({ id, name }) => [id, name && name !== id ? `${name} (${id})` : id]);
  return html`
    <form class="filters-row" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Run">
        <${Select} options=${[[null, "Choose a run…"], ...names]} value=${run?.id ?? null}
          onChange=${(id) => choose({ run: id, baseline: null, metric: null })} />
      <//>
      ${run && html`
        <${Field} label="Baseline">
          ${run.methods
            ? html`<${Select} options=${nameOptions("none: all pairs", run.methods)} value=${wanted.baseline} onChange=${(baseline) => choose({ baseline })} />`
            : html`<${TextEntry} value=${wanted.baseline} placeholder="a method's name" onChange=${(baseline) => choose({ baseline: baseline || null })} />`}
        <//>
        <${Field} label="Metric">
          <${Select} options=${nameOptions("all", run.metrics)} value=${wanted.metric} onChange=${(metric) => choose({ metric })} />
        <//>
        <${Field} label="Group by tag">
          <${TextEntry} value=${wanted.by} placeholder="such as query_type" onChange=${(by) => choose({ by: by || null })} />
        <//>`}
    </form>`;
}

/** The comparison, or what has to be done before there is something to compare. */
function ComparisonOrNothing({ runs, run, wanted }) {
  if (run?.methods?.length < 2) {
    return html`
      <${EmptyState} title="This run has no two methods to compare.">
        Judge the answers of two methods in one run: each row of the data names its method.
      <//>`;
  }
  if (run) return html`<${Comparison} ...${wanted} run=${run.id} />`;
  if (runs.length) {
    return html`<${EmptyState} title="Choose a run.">Its methods are compared with each other, or with a baseline of them.<//>`;
  }
  return html`<${EmptyState} title="No run to compare yet."><a href="#/new-run">Start a run</a> over cases of several methods.<//>`;
}

function Comparison({ run, baseline, metric, by }) {
  const { data, error, loading, reload } =
    useRequest((signal) => loadComparison(run, { baseline, metric, by }, signal), [run, baseline, metric, by]);
  if (loading) return html`<${EmptyState} busy title="Comparing…" />`;
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  const { findings, warnings, without_numbers: unnumbered } = data.comparison;
  const isLoud = (line) => line.startsWith(NOT_COMPARABLE);
  const others = warnings.filter((line) => !isLoud(line));
  return html`
    ${warnings.filter(isLoud).map((line) => html`<${Notice} tone="bad"><p dir="auto">${line}</p><//>`)}
    ${findings.map((line) => html`<p dir="auto">${line}</p>`)}
    <${ContrastTables} ...${data} run=${run} />
    <${Downloads} of="the comparison" files=${[["HTML report", "html"], ["Chart", "svg"]].map(([word, ending]) =>
      [word, `/v1/runs/${part(run)}/compare.${ending}`, { baseline, metric, by }])} />
    ${unnumbered?.length > 0 && html`
      <${Notice}>
        <p>Not compared, as none of their values reads as a number: ${unnumbered.join(", ")}.</p> Give their categories scores.
      <//>`}
    ${others.length > 0 && html`
      <${Notice} tone="warn">
        <p>Mind, before you rely on it:</p>
        <ul class="faults">${others.map((line) => html`<li dir="auto">${line}</li>`)}</ul>
      <//>`}`;
}

const loadComparison = async (run, options, signal) =>
  ({ comparison: await get(`/v1/runs/${part(run)}/compare`, options, signal) });

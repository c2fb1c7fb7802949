/** Comparing the methods of a run, or two runs: difference with its interval, test, and questions won, tied and lost. */

import { get, name as part } from "../api.js";
import { ContrastTables } from "../components/contrast_tables.js";
import { Downloads } from "../components/downloads.js";
import { Field, Select, nameOptions, withCurrent } from "../components/fields.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { date } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const NOT_COMPARABLE = "NOT COMPARABLE";
const CHOICES = ["run", "against", "baseline", "metric", "by"];
const MAX_RUNS = 100;

/** The choice of a run and a baseline, and the comparison. */
export function CompareView({ query }) {
  const wanted = Object.fromEntries(CHOICES.map((name) => [name, query.get(name)]));
  const { data, error, reload } = useRequest((signal) => loadRuns(wanted, signal), [wanted.run, wanted.against]);
  return html`
    <${ViewHead} title="Compare" lead="Question by question, with how sure each difference is." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && !error && html`
      <${ComparisonForm} ...${data} wanted=${wanted} />
      <div class="stack"><${ComparisonOrNothing} ...${data} wanted=${wanted} /></div>`}`;
}

/** Load the runs to choose from, with the chosen ones among them, and the tags of the cases. */
async function loadRuns(wanted, signal) {
  const { runs: newest } = await get("/v1/runs", { limit: MAX_RUNS }, signal);
  const find = async (id) => (id ? (newest.find((one) => one.id === id) ?? (await get(`/v1/runs/${part(id)}`, {}, signal))) : null);
  const [run, against] = [await find(wanted.run), await find(wanted.against)];
  const runs = [...new Set([run, against, ...newest].filter(Boolean))].filter(({ kind }) => kind !== "alignment");
  const report = run && (await get(`/v1/runs/${part(run.id)}/report`, {}, signal).catch(() => null)); // it may have no results yet
  return { runs, run, against, tags: report?.tags ?? [] };
}

function ComparisonForm({ runs, run, tags, wanted }) {
  const choose = (change) => go(at("compare", { ...wanted, ...change }));
  const names = runs.map(({ id, name, created }) => [id, `${name || id}, ${date(created)}`]);
  return html`
    <form class="filters-row" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Run">
        <${Select} options=${[[null, "Choose a run…"], ...names]} value=${run?.id ?? null}
          onChange=${(id) => choose({ run: id, against: null, baseline: null, metric: null, by: null })} />
      <//>
      ${run && html`
        <${Field} label="Against">
          <${Select} options=${[[null, "its own methods"], ...names.filter(([id]) => id !== run.id)]} value=${wanted.against}
            onChange=${(against) => choose({ against, baseline: null })} />
        <//>
        ${!wanted.against && html`
          <${Field} label="Baseline">
            <${Select} options=${withCurrent(nameOptions("none: all pairs", run.methods ?? []), wanted.baseline)} value=${wanted.baseline}
              onChange=${(baseline) => choose({ baseline })} />
          <//>`}
        <${Field} label="Metric">
          <${Select} options=${nameOptions("all", run.metrics)} value=${wanted.metric} onChange=${(metric) => choose({ metric })} />
        <//>
        <${Field} label="Group by tag">
          <${Select} options=${withCurrent(nameOptions("nothing", tags), wanted.by)} value=${wanted.by} onChange=${(by) => choose({ by })} />
        <//>`}
    </form>`;
}

/** The comparison, or what has to be done before there is something to compare. */
function ComparisonOrNothing({ runs, run, against, wanted }) {
  if (run?.methods?.length < 2 && !against) {
    return html`
      <${EmptyState} title="This run has no two methods to compare.">
        Choose another run under Against, or judge the answers of two methods in one run: each row of the data names its method.
      <//>`;
  }
  if (run) return html`<${Comparison} ...${wanted} run=${run.id} names=${nameRuns([run, against])} />`;
  if (runs.length) {
    return html`<${EmptyState} title="Choose a run.">Its methods are compared with each other, with a baseline of them, or with another run.<//>`;
  }
  return html`<${EmptyState} title="No run to compare yet."><a href="#/new-run">Start a run</a> over cases of several methods.<//>`;
}

/** Return a function that writes the names of runs for their ids in a text. */
const nameRuns = (runs) => (text) =>
  runs.filter((run) => run?.name).reduce((written, { id, name }) => written.replaceAll(id, () => name), text);

function Comparison({ run, against, baseline, metric, by, names }) {
  const { data, error, loading, reload } =
    useRequest((signal) => loadComparison(run, { against, baseline, metric, by }, signal), [run, against, baseline, metric, by]);
  if (loading) return html`<${EmptyState} busy title="Comparing…" />`;
  if (error) return html`<${Problem} error=${error} retry=${error.code === "invalid_data" ? null : reload} />`;
  const { findings, warnings, without_numbers: unnumbered } = data.comparison;
  const isLoud = (line) => line.startsWith(NOT_COMPARABLE);
  const others = warnings.filter((line) => !isLoud(line));
  return html`
    ${warnings.filter(isLoud).map((line) => html`<${Notice} tone="bad"><p dir="auto">${names(line)}</p><//>`)}
    ${findings.map((line) => html`<p class="finding" dir="auto">${names(line)}</p>`)}
    <${ContrastTables} ...${data} run=${run} names=${names} />
    <${Downloads} of="the comparison" files=${[["HTML report", "html"], ["Chart", "svg"]].map(([word, ending]) =>
      [word, `/v1/runs/${part(run)}/compare.${ending}`, { against, baseline, metric, by }])} />
    ${unnumbered?.length > 0 && html`
      <${Notice}>
        <p>Not compared, as none of their values reads as a number: ${unnumbered.join(", ")}.</p> Give their categories scores.
      <//>`}
    ${others.length > 0 && html`
      <${Notice} tone="warn">
        <p>Mind, before you rely on it:</p>
        <ul class="faults">${others.map((line) => html`<li dir="auto">${names(line)}</li>`)}</ul>
      <//>`}`;
}

const loadComparison = async (run, options, signal) =>
  ({ comparison: await get(`/v1/runs/${part(run)}/compare`, options, signal) });

/** Labelling: a person judges the items that a judge judged, one after the other, by keyboard or mouse. */

import { useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { knownMetrics } from "../catalogue.js";
import { Field, Select, TextEntry } from "../components/fields.js";
import { LabelFiles } from "../components/label_files.js";
import { LabelSession } from "../components/label_session.js";
import { EmptyState, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const SAMPLES = [
  ["random", "at random"],
  ["stratified", "equally many of each verdict"],
  ["uncertain", "more where the judge is uncertain"],
  ["disagreements", "where labels differ from the judge or each other"],
  ["all", "all items"],
];
const SIZED = ["random", "stratified", "uncertain"];
const DEFAULT_SIZE = 100;
const NAME_KEY = "greval-annotator";

/** The choice of what to label, then the items. */
export function LabelView({ params: { id: run }, query }) {
  const { data, error, reload } = useRequest((signal) => loadMetrics(run, signal), [run]);
  const crumbs = [["#/runs", "Runs"], [at(["runs", run]), run]];
  const options = readOptions(query);
  return html`
    <${ViewHead} crumbs=${crumbs} title="Label" lead="Judge what the judge judged: the labels show how far it can be believed." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && (options.metric && options.annotator
      ? html`<${LabelSession} key=${JSON.stringify(options)} run=${run} ...${options} />`
      : html`<div class="stack"><${LabelOptions} run=${run} metrics=${data} options=${options} />
          ${data.length > 0 && html`<${LabelFiles} run=${run} metrics=${data} />`}</div>`)}`;
}

async function loadMetrics(run, signal) {
  const { metrics } = await get(`/v1/runs/${part(run)}`, {}, signal);
  const known = await knownMetrics(metrics, signal);
  return metrics.filter((name) => known.get(name)?.kind !== "computed");
}

/** Read the choice of the address; the sample is as the server takes it, null for all items. */
function readOptions(query) {
  const sample = query.get("sample") ?? `random:${DEFAULT_SIZE}`;
  return {
    metric: query.get("metric"),
    annotator: query.get("annotator"),
    sample: sample === "all" ? null : sample,
    blind: query.get("verdicts") !== "shown",
  };
}

function LabelOptions({ run, metrics, options }) {
  const [metric, setMetric] = useState(metrics.includes(options.metric) ? options.metric : metrics[0]);
  const [annotator, setAnnotator] = useState(localStorage.getItem(NAME_KEY) ?? "");
  const [kind, setKind] = useState("random");
  const [size, setSize] = useState(DEFAULT_SIZE);
  const [shown, setShown] = useState(false);
  if (!metrics.length) return html`<${EmptyState} title="No metric of this run has a judge.">Computed metrics need no labels.<//>`;
  function start(event) {
    event.preventDefault();
    const name = annotator.trim();
    localStorage.setItem(NAME_KEY, name);
    const sample = SIZED.includes(kind) ? `${kind}:${size}` : kind;
    go(at(["runs", run, "label"], { metric, annotator: name, sample, verdicts: shown ? "shown" : null }));
  }
  return html`
    <form class="sheet label-options" onSubmit=${start}>
      <${Field} label="Metric"><${Select} options=${metrics.map((name) => [name, name])} value=${metric} onChange=${setMetric} /><//>
      <${Field} label="Your name" hint="Stored with each label, so that people can be compared.">
        <${TextEntry} value=${annotator} required maxlength="200" onInput=${({ target }) => setAnnotator(target.value)} onChange=${setAnnotator} />
      <//>
      <${Field} label="Items"><${Select} options=${SAMPLES} value=${kind} onChange=${setKind} /><//>
      ${SIZED.includes(kind) && html`
        <${Field} label="How many">
          <input type="number" min="1" max="100000" value=${size} onInput=${({ target }) => setSize(target.value)} required />
        <//>`}
      <label class="check">
        <input type="checkbox" checked=${shown} onChange=${({ target }) => setShown(target.checked)} />
        <span>Show the judge's verdicts <span class="soft">(they bias labels; leave them off to measure agreement)</span></span>
      </label>
      <div class="actions"><button class="primary">Start labelling</button></div>
    </form>`;
}

/** A new run: upload cases, choose metrics and a judge, start. */

import { useRef, useState } from "../../vendor/preact_hooks.js";
import { get, post } from "../api.js";
import { allJudges, allMetrics } from "../catalogue.js";
import { DatasetPicker } from "../components/dataset_picker.js";
import { Field } from "../components/fields.js";
import { JudgeSelect, chooseJudge } from "../components/judge_select.js";
import { MetricPicker } from "../components/metric_picker.js";
import { Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const NAME = "[A-Za-z0-9][A-Za-z0-9_\\-]{0,63}";
const NUMBERS = [
  ["limit", "Only the first cases", "empty: all"],
  ["repeats", "Repeats of each judgement", "empty: 1; more show how steady the judge is"],
  ["concurrency", "Calls at once", "empty: as the server decides"],
  ["max_calls", "At most so many calls", "the run stops there in order"],
  ["max_cost", "At most so many US dollars", "the run stops there in order"],
];
const NO_CASES = { title: "No cases", detail: "Choose a file, or a data set that is there already." };
const NO_METRIC = { title: "No metric is chosen", detail: "Tick at least one metric." };

/** The form of a new run. */
export function NewRunView({ query }) {
  const { data, error, reload } = useRequest(loadChoices, []);
  return html`
    <${ViewHead} crumbs=${[["#/runs", "Runs"]]} title="Start a run" />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${NewRunForm} ...${data} query=${query} />`}`;
}

async function loadChoices(signal) {
  const [metrics, judges, { datasets }] = await Promise.all([allMetrics(), allJudges(), get("/v1/datasets", {}, signal)]);
  return { metrics, judges, datasets };
}

function NewRunForm({ metrics, judges, datasets, query }) {
  const [dataset, setDataset] = useState(() => datasets.find(({ id }) => id === query.get("dataset"))?.id ?? null);
  const [chosen, setChosen] = useState(() => query.getAll("metric").filter((name) => metrics.has(name)));
  const [judge, setJudge] = useState(() => chooseJudge(judges, null));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);

  async function submit(event) {
    event.preventDefault();
    const controls = [...form.current.querySelectorAll("[data-setting]")];
    const wrong = controls.find((control) => !control.checkValidity());
    if (wrong) return wrong.reportValidity();
    if (!dataset) return setError(NO_CASES);
    if (!chosen.length) return setError(NO_METRIC);
    const settings = controls.filter(({ value }) => value)
      .map(({ dataset: { setting }, value }) => [setting, setting === "name" ? value : Number(value)]);
    setBusy(true);
    setError(null);
    try {
      const run = await post("/v1/runs", { dataset, metrics: chosen, judge, ...Object.fromEntries(settings) });
      if (form.current) go(at(["runs", run.id])); // unless the reader went elsewhere
    } catch (refused) {
      setError(refused);
    }
    return setBusy(false);
  }
  return html`
    <form class="bench" novalidate onSubmit=${submit} ref=${form}>
      <section class="sheet"><h2>Cases</h2><${DatasetPicker} datasets=${datasets} chosen=${dataset} onChange=${setDataset} /></section>
      <section class="sheet">
        <${MetricPicker} metrics=${metrics} chosen=${chosen} onChange=${setChosen} />
        <${JudgeSelect} judges=${judges} value=${judge} onChange=${setJudge} />
        <${Field} label="Name" hint="Letters, digits, - and _; empty: the server makes one.">
          <input type="text" pattern=${NAME} autocomplete="off" data-setting="name" />
        <//>
        <details>
          <summary>Limits and repeats</summary>
          <div class="numbers">${NUMBERS.map(([name, label, hint]) => html`
            <${Field} label=${label} hint=${hint}>
              <input type="number" min=${name === "max_cost" ? "0.000001" : "1"} step=${name === "max_cost" ? "any" : "1"} data-setting=${name} />
            <//>`)}</div>
        </details>
        ${error && html`<${Problem} error=${error} />`}
        <div class="actions"><button class="primary" disabled=${busy}>Start</button></div>
      </section>
    </form>`;
}

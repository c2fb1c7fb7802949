/** A new run: upload cases, choose metrics and a judge, start. */

import { useMemo, useRef, useState } from "../../vendor/preact_hooks.js";
import { get, name as part, post } from "../api.js";
import { allDatasets, allJudges, allMetrics } from "../catalogue.js";
import { DatasetPicker } from "../components/dataset_picker.js";
import { Field } from "../components/fields.js";
import { JudgeSelect, chooseJudge } from "../components/judge_select.js";
import { MetricPicker } from "../components/metric_picker.js";
import { Notice, Problem } from "../components/notices.js";
import { RunForecast } from "../components/run_forecast.js";
import { ViewHead } from "../components/view_head.js";
import { counted } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { listFailed, readChosen } from "../rejudging.js";
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
const NO_QUESTIONS = { title: "No questions", detail: "No question of the run failed. Judge all, or choose some in its list." };
const NO_METRIC = { title: "No metric is chosen", detail: "Tick at least one metric." };

/** The form of a new run. */
export function NewRunView({ query }) {
  const { data, error, reload } = useRequest((signal) => loadChoices(query, signal), [String(query)]);
  return html`
    <${ViewHead} crumbs=${[["#/runs", "Runs"]]} title="Start a run" />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${NewRunForm} ...${data} query=${query} />`}`;
}

async function loadChoices(query, signal) {
  const again = query.get("again");
  const [metrics, judges, datasets, before] = await Promise.all([
    allMetrics(), allJudges(), allDatasets(signal), again && loadJudged(again, query, signal),
  ]);
  return { metrics, judges, datasets, before };
}

/** Return the run that is judged again, and the ids of its questions that are: those that failed, the chosen, or null. */
async function loadJudged(id, query, signal) {
  const run = await get(`/v1/runs/${part(id)}`, {}, signal);
  const of = query.get("of");
  if (of === "failed") return { run, of, ids: await listFailed(id, query.getAll("metric"), signal) };
  return { run, of, ids: of === "chosen" ? readChosen(id) : null };
}

function NewRunForm({ metrics, judges, datasets, before, query }) {
  const first = before?.run.dataset ?? query.get("dataset");
  const [dataset, setDataset] = useState(() => datasets.find(({ id }) => id === first)?.id ?? null);
  const [ids, setIds] = useState(before?.ids ?? null);
  const [numbers, setNumbers] = useState({});
  const [chosen, setChosen] = useState(() => query.getAll("metric").filter((name) => metrics.has(name)));
  const [judge, setJudge] = useState(() => chooseJudge(judges, null));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  const fitting = useFitting(dataset);

  function changeDataset(id) {
    setDataset(id);
    if (id !== first) setIds(null); // they are questions of another data set
  }
  async function submit(event) {
    event.preventDefault();
    const controls = [...form.current.querySelectorAll("[data-setting]")];
    const wrong = controls.find((control) => !control.checkValidity());
    if (wrong) return wrong.reportValidity();
    if (!dataset) return setError(NO_CASES);
    if (ids?.length === 0) return setError(NO_QUESTIONS);
    if (!chosen.length) return setError(NO_METRIC);
    setBusy(true);
    setError(null);
    try {
      const run = await post(isDuel ? "/v1/runs/duel" : "/v1/runs", { dataset, metrics: chosen, judge, ...selected, ...readSettings(controls) });
      if (form.current) go(at(["runs", run.id])); // unless the reader went elsewhere
    } catch (refused) {
      setError(refused);
    }
    return setBusy(false);
  }
  const selected = ids === null ? {} : { sample_ids: ids };
  // Cases that are pairs are judged as they are.
  const isDuel = ids === null && chosen.length > 0 && chosen.every((name) => metrics.get(name).preference && !fitting?.has(name));
  const { limit, repeats } = numbers;
  const asked = dataset && chosen.length && ids?.length !== 0 ? { dataset, metrics: chosen, judge, limit, repeats, duel: isDuel, ...selected } : null;
  const noteSettings = () => setNumbers(readSettings([...form.current.querySelectorAll("[data-setting]")]));
  return html`
    <form class="bench" novalidate onSubmit=${submit} onChange=${noteSettings} ref=${form}>
      <section class="sheet">
        <h2>Cases</h2>
        ${ids !== null && html`<${ChosenQuestions} ids=${ids} before=${before} onAll=${() => setIds(null)} />`}
        <${DatasetPicker} datasets=${datasets} chosen=${dataset} onChange=${changeDataset} />
      </section>
      <section class="sheet">
        <${MetricPicker} metrics=${metrics} chosen=${chosen} onChange=${setChosen} fitting=${fitting} />
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
        ${isDuel && html`<p class="small soft">A duel: the answers of each two methods to the same question are compared, in both orders.</p>`}
        <${RunForecast} asked=${asked} />
        ${error && html`<${Problem} error=${error} />`}
        <div class="actions"><button class="primary" disabled=${busy}>Start</button></div>
      </section>
    </form>`;
}

/** Return the names of the metrics that find what they need in a case of a data set; null while that is not known. */
function useFitting(dataset) {
  const { data } = useRequest(async (signal) => (dataset ? { dataset, ...(await post("/v1/forecast", { dataset }, signal)) } : null), [dataset]);
  return useMemo(() => (data?.dataset === dataset && data ? new Set(data.fitting.map(({ metric }) => metric)) : null), [data, dataset]);
}

/** Return the settings that are filled in and valid, by their names. */
const readSettings = (controls) => Object.fromEntries(controls
  .filter((control) => control.value && control.checkValidity())
  .map(({ dataset: { setting }, value }) => [setting, setting === "name" ? value : Number(value)]));

/** Which questions of a run are judged again. */
const ChosenQuestions = ({ ids, before: { run, of }, onAll }) => html`
  <${Notice}>
    <p>
      Only ${counted(ids.length, "question")} of <a href=${at(["runs", run.id])}>${run.name || run.id}</a>${of === "failed" ? ", those with a failure" : ""}.
      <button type="button" class="quiet" onClick=${onAll}>Judge all</button>
    </p>
  <//>`;

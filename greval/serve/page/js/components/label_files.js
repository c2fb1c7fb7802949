/** Labels out and in: files to save and to add, and an Argilla dataset. */

import { useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { name as part, post, send } from "../api.js";
import { ACCEPTED, findFileType } from "../file_types.js";
import { count, counted } from "../format.js";
import { html } from "../html.js";
import { Downloads } from "./downloads.js";
import { Field, Select, TextEntry } from "./fields.js";
import { Notice, Problem } from "./notices.js";

const NO_DATASET = { title: "No dataset", detail: "Name the dataset in Argilla; a push creates it." };

/** The labels of a run as files and in Argilla; `metrics` are its judged ones. */
export function LabelFiles({ run, metrics }) {
  const [{ busy, told, error }, setState] = useState({ busy: null, told: null, error: null });
  async function act(word, work) {
    if (busy) return;
    setState({ busy: word, told: null, error: null });
    try {
      const text = await work();
      announce(text);
      setState({ busy: null, told: text, error: null });
    } catch (problem) {
      setState({ busy: null, told: null, error: problem });
    }
  }
  const url = `/v1/runs/${part(run)}`;
  const add = ([file]) => file && act("Adding the labels", async () => {
    const type = findFileType(file);
    const who = new URLSearchParams({ annotator: file.name.replace(/\.[^.]*$/, "").slice(0, 200) });
    const response = await send("PUT", `${url}/annotations?${who}`, { body: file, type });
    const { annotations, held } = await response.json();
    return `${counted(annotations, "label")} of ${file.name} are stored; the run has ${count(held)} now.`;
  });
  return html`
    <section class="sheet label-files" aria-labelledby="label-files">
      <h2 id="label-files">Labels from elsewhere</h2>
      <${Downloads} of="the labels" files=${[["CSV", `${url}/labels.csv`], ["JSON lines", `${url}/labels.jsonl`]]} />
      <${Field} label="Add a file of labels" hint="A filled sheet, results with a column of labels, or rows with sample_id, metric and value; nothing is stored if a row is wrong.">
        <input type="file" accept=${ACCEPTED} onChange=${({ target }) => add(target.files)} />
      <//>
      <p class="soft small">A file whose rows do not say who labelled is that of the person after whom it is named.</p>
      <${Downloads} of="what is to be labelled" files=${metrics.map((metric) => [`sheet of ${metric}`, `${url}/label-sheet.csv`, { metric }])} />
      <${ArgillaForm} url=${url} metrics=${metrics} onAct=${act} />
      <div role="status">
        ${busy && html`<p class="soft">${busy}…</p>`}
        ${told && html`<${Notice}><p dir="auto">${told}</p><//>`}
      </div>
      ${error && html`<${Problem} error=${error} />`}
    </section>`;
}

/** Push judged items to the operator's Argilla server, and pull what people answered there. */
function ArgillaForm({ url, metrics, onAct }) {
  const [metric, setMetric] = useState(metrics[0]);
  const [dataset, setDataset] = useState("");
  const named = () => {
    if (!dataset.trim()) throw NO_DATASET;
    return dataset.trim();
  };
  const push = () => onAct("Pushing to Argilla", async () => {
    const done = await post(`${url}/argilla/push`, { metrics: [metric], dataset: named(), sample: "random:100" });
    return `${counted(done.added, "record")} ${done.added === 1 ? "is" : "are"} new in the dataset ${done.dataset}, which people label now.`;
  });
  const pull = () => onAct("Pulling from Argilla", async () => {
    const done = await post(`${url}/argilla/pull`, { dataset: named() });
    const labels = done.annotators.reduce((sum, { submitted }) => sum + submitted, 0);
    return `${counted(labels, "submitted label")} of the dataset ${done.dataset} ${labels === 1 ? "is" : "are"} stored.`;
  });
  return html`
    <details>
      <summary>Argilla</summary>
      <div class="stack">
        <p class="small soft">A push adds 100 random items of the metric to the dataset, without the judge's verdicts; a pull stores the submitted labels.</p>
        <${Field} label="Metric to push"><${Select} options=${metrics.map((name) => [name, name])} value=${metric} onChange=${setMetric} /><//>
        <${Field} label="Dataset in Argilla">
          <${TextEntry} value=${dataset} maxlength="200" onInput=${({ target }) => setDataset(target.value)} onChange=${setDataset} />
        <//>
        <div class="actions"><button type="button" onClick=${push}>Push items</button><button type="button" onClick=${pull}>Pull labels</button></div>
      </div>
    </details>`;
}

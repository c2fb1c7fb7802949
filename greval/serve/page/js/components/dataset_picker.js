/** The cases of a run: a file to upload, or a data set of the server. */

import { useEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { name as part, path, remove, upload } from "../api.js";
import { ACCEPTED, findFileType } from "../file_types.js";
import { bytes, count, counted, date } from "../format.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { ColumnSelects } from "./column_selects.js";
import { Field, Select } from "./fields.js";
import { Notice, Problem } from "./notices.js";

const MAX_FAULTS = 5;

/** A file to upload, or one of the data sets; `onChange` gets the id of what is chosen, or null. */
export function DatasetPicker({ datasets, chosen, onChange }) {
  const [uploaded, setUploaded] = useState({});
  const controller = useRef(new AbortController());
  useEffect(() => () => controller.current.abort(), []);
  const choose = (id) => {
    setUploaded({});
    onChange(id);
  };

  /** Upload a file, which is read with the columns that the reader proposes. */
  async function send([file]) {
    if (file) await read(file, {}, (dataset) => dataset.proposed_columns ?? {});
  }
  /** Upload a file with a column map, and again with a further one if there is one; only the last data set stays. */
  async function read(file, columns, findMore = () => ({})) {
    const { dataset: earlier } = uploaded;
    onChange(null);
    setUploaded({ file });
    const { signal } = controller.current;
    try {
      let dataset = await sendWith(file, columns, signal);
      const more = findMore(dataset);
      if (Object.keys(more).length) {
        const plain = dataset;
        dataset = await sendWith(file, { ...columns, ...more }, signal);
        forget(plain);
      }
      if (earlier) forget(earlier);
      setUploaded({ dataset, sent: file });
      onChange(dataset.id);
      announce(`${file.name}: ${counted(dataset.cases, "case")} read`);
    } catch (error) {
      if (!signal.aborted) setUploaded({ error, sent: error.columns?.length ? file : null, columns, dataset: null });
    }
  }
  const drop = (event) => {
    event.preventDefault();
    send(event.dataTransfer.files);
  };
  const options = datasets.map(({ id, name, cases, created }) => [id, `${name}, ${counted(cases, "case")}, ${date(created)}`]);
  const known = datasets.find(({ id }) => id === chosen);
  const shown = uploaded.dataset ?? known;
  return html`
    <div class="stack">
      <label class="drop" for="file" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}>
        <span>Choose a file, or drop it here</span>
        <span class="soft small">CSV, Excel, Parquet or JSON; one case a row</span>
        <input type="file" id="file" accept=${ACCEPTED} onChange=${({ target }) => send(target.files)} />
      </label>
      ${datasets.length > 0 && html`
        <${Field} label="Or"><${Select} options=${[[null, "A data set that is there…"], ...options]} value=${known?.id ?? null} onChange=${choose} /><//>`}
      <div class="stack-small" role="status">
        ${uploaded.error && html`<${Problem} error=${uploaded.error} />`}
        ${uploaded.error && uploaded.sent && html`
          <${ColumnSelects} file=${uploaded.error} chosen=${uploaded.columns} onChoose=${(columns) => read(uploaded.sent, columns)} />`}
        ${uploaded.file && html`<p class="soft">Reading ${uploaded.file.name} (${bytes(uploaded.file.size)})…</p>`}
        ${uploaded.dataset && html`
          <${ColumnSelects} file=${shown} chosen=${shown.columns} onChoose=${(columns) => read(uploaded.sent, columns)} />`}
        ${shown && html`<${DatasetDetails} dataset=${uploaded.dataset ? { ...shown, proposed_columns: {} } : shown} /><p class="small"><a href=${at(["data", shown.id])}>See its rows</a></p>`}
      </div>
    </div>`;
}

/** Upload a file with a column map; return its data set. */
const sendWith = (file, columns, signal) => {
  const column = Object.entries(columns).map(([field, name]) => `${field}=${name}`);
  return upload(path("/v1/datasets", { name: makeName(file.name), column }), file, findFileType(file), signal);
};

/** Delete a data set that another reading of its file replaces; should that fail, it only stays in the list. */
const forget = ({ id }) => remove(`/v1/datasets/${part(id)}`).catch(() => {});

/** Return a name that the server takes. */
export const makeName = (file) =>
  file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "").slice(0, 48) || "data";

/** What a data set holds: its cases, what its columns were read as, and the rows that are none. */
export function DatasetDetails({ dataset: { name, cases, bytes: size, fields, ignored, unread, unread_count: many, proposed_columns: proposed } }) {
  const mapping = Object.entries(fields ?? {}).map(([from, to]) => `${from} → ${to}`);
  return html`
    <p><strong>${counted(cases, "case")}</strong> in <bdi>${name}</bdi>, ${bytes(size)}</p>
    ${mapping.length > 0 && html`<p class="small soft">Read as: ${mapping.join(", ")}</p>`}
    ${ignored?.length > 0 && html`<p class="small soft">Not read: ${ignored.join(", ")}</p>`}
    ${Object.keys(proposed ?? {}).length > 0 && html`<${Proposal} columns=${proposed} />`}
    ${many > 0 && html`
      <${Notice} tone="warn">
        <p>${counted(many, "row")} cannot be read and will be passed over:</p>
        <ul class="faults">
          ${unread.slice(0, MAX_FAULTS).map(({ place, message }) => html`<li dir="auto">${place}: ${message}</li>`)}
          ${many > MAX_FAULTS && html`<li>and ${count(many - MAX_FAULTS)} more</li>`}
        </ul>
      <//>`}`;
}

/** The columns that are likely to be the method and the id of the question. */
const Proposal = ({ columns: { method, id } }) => html`
  <${Notice}>
    ${method && html`<p>Each question occurs once for each value of <bdi class="mono">${method}</bdi>. Is it the method?</p>`}
    ${id && html`<p><bdi class="mono">${id}</bdi> has a value for each question. Is it the id?</p>`}
    <p class="small soft">Upload the file again, and choose this column.</p>
  <//>`;

/** The import of verdicts that were given elsewhere, as a run. */

import { useRef, useState } from "../../vendor/preact_hooks.js";
import { path, upload } from "../api.js";
import { makeName } from "../components/dataset_picker.js";
import { Field } from "../components/fields.js";
import { Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { ACCEPTED, findFileType } from "../file_types.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const TEXTS = [
  ["metric", "Metric", "a judged metric of the library; with a scale, a name for it; empty: verdict"],
  ["scale", "Scale", "only if there is no metric: 0..3, 0.0..1.0, yes/no, good/fair/poor"],
  ["value", "Column of the verdicts", "empty: value, or the name of the metric"],
  ["reason", "Column of the reasons", "empty: reason"],
  ["judge", "Judge", "who gave the verdicts; empty: the name of the file"],
];
const COLUMNS = ["value", "reason"];
const NO_FILE = { title: "No file", detail: "Choose the file of the verdicts." };

/** The form of an import. */
export function ImportView() {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  async function submit(event) {
    event.preventDefault();
    const { file, ...texts } = Object.fromEntries(new FormData(form.current));
    if (!file.size) return setError(NO_FILE);
    setBusy(true);
    setError(null);
    try {
      const type = findFileType(file);
      const { metric, scale, judge } = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim() || null]));
      const column = COLUMNS.filter((name) => texts[name].trim()).map((name) => `${name}=${texts[name].trim()}`);
      const { run } = await upload(path("/v1/runs/import", { name: makeName(file.name), metric, scale, judge, column }), file, type);
      if (form.current) go(at(["runs", run.id])); // unless the reader went elsewhere
    } catch (refused) {
      setError(refused);
    }
    return setBusy(false);
  }
  return html`
    <${ViewHead} crumbs=${[["#/runs", "Runs"]]} title="Import verdicts" lead="Verdicts of another tool, of people or of a judge that ran elsewhere become a run. No judge is asked." />
    <form class="sheet stack" onSubmit=${submit} ref=${form}>
      <${Field} label="File" hint="CSV, Excel, Parquet or JSON: a row for each case, with its verdict."><input type="file" name="file" accept=${ACCEPTED} /><//>
      ${TEXTS.map(([name, label, hint]) => html`
        <${Field} label=${label} hint=${hint}><input type="text" name=${name} autocomplete="off" spellcheck=${false} /><//>`)}
      ${error && html`<${Problem} error=${error} />`}
      <div class="actions"><button class="primary" disabled=${busy}>Import</button></div>
    </form>`;
}

/** The data sets: what was uploaded, and the rows of one as they were read. */

import { useEffect, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { get, name as part, remove } from "../api.js";
import { allDatasets } from "../catalogue.js";
import { DatasetDetails } from "../components/dataset_picker.js";
import { Dialog } from "../components/dialog.js";
import { Downloads } from "../components/downloads.js";
import { FoldedText } from "../components/folded_text.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { TableHead } from "../components/table.js";
import { ViewHead } from "../components/view_head.js";
import { bytes, counted, date } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const PAGE = 20;
const COLUMNS = ["case", "question", "answer", "expected answer", "also there"];

/** The list of data sets, newest first. */
export function DatasetsView() {
  const { data, error, reload } = useRequest(allDatasets, []);
  return html`
    <${ViewHead} title="Data" lead="Cases that were uploaded to be judged." actions=${html`<a class="button primary" href="#/new-run">Upload and start a run</a>`} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && !data.length && html`<${EmptyState} title="No data set yet.">A file that is uploaded for <a href="#/new-run">a run</a> stays here.<//>`}
    <ul class="runs">${data?.map((one) => html`
      <li class="sheet run" data-id=${one.id}>
        <div class="run-name"><a class="run-link" href=${at(["data", one.id])} dir="auto">${one.name}</a></div>
        <p class="small soft">
          ${[counted(one.cases, "case"), one.unread_count > 0 && `${counted(one.unread_count, "row")} not read`, bytes(one.bytes), date(one.created)].filter(Boolean).join(" · ")}
        </p>
      </li>`)}</ul>`;
}

/** A data set: what its columns were read as, and its rows. */
export function DatasetView({ params: { id } }) {
  const { data, error, reload } = useRequest((signal) => get(`/v1/datasets/${part(id)}`, {}, signal), [id]);
  return html`
    <${ViewHead} crumbs=${[["#/data", "Data"]]} title=${data?.name ?? id} lead=${data && `${data.kind.slice(1)}, ${date(data.created)}`}
      actions=${data && html`
        <div class="actions"><a class="button primary" href=${at("new-run", { dataset: id })}>Start a run</a><${DeleteDataset} dataset=${data} /></div>`} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`
      <section class="sheet"><${DatasetDetails} dataset=${data} /></section>
      <${Downloads} of="the data set" files=${[["The file as it was sent", `/v1/datasets/${part(id)}/file`]]} />
      <${Rows} id=${id} />`}`;
}

/** The rows as they are read, page by page. */
function Rows({ id }) {
  const [{ rows, unread, next, error }, setState] = useState({ rows: [], unread: [], next: undefined, error: null });
  const [busy, setBusy] = useState(false);
  async function load(cursor, signal) {
    setBusy(true);
    try {
      const page = await get(`/v1/datasets/${part(id)}/cases`, { limit: PAGE, cursor }, signal);
      setState((before) => ({ rows: [...before.rows, ...page.cases], unread: [...before.unread, ...page.unread], next: page.next, error: null }));
    } catch (problem) {
      if (problem.name !== "AbortError") setState((before) => ({ ...before, error: problem }));
    }
    setBusy(false);
  }
  useEffect(() => {
    const controller = new AbortController();
    load(null, controller.signal);
    return () => controller.abort();
  }, [id]);
  return html`
    ${error && html`<${Problem} error=${error} retry=${() => load(next ?? null)} />`}
    ${rows.length > 0 && html`
      <div class="scroll sheet" tabindex="0" role="region" aria-label="Rows as they were read">
        <table class="rows-read">
          <${TableHead} columns=${COLUMNS} />
          <tbody>${rows.map((row, place) => html`<${Row} key=${place} row=${row} />`)}</tbody>
        </table>
      </div>`}
    ${unread.length > 0 && html`
      <${Notice} tone="warn">
        <p>${counted(unread.length, "row")} of these could not be read:</p>
        <ul class="faults">${unread.map(({ place, message }) => html`<li dir="auto">${place}: ${message}</li>`)}</ul>
      <//>`}
    ${next && html`<p><button type="button" aria-busy=${busy ? "true" : null} onClick=${() => busy || load(next)}>More rows</button></p>`}`;
}

const Row = ({ row }) => html`
  <tr>
    <th scope="row"><span class="mono" dir="auto">${row.id || "–"}</span>${row.method && html`<br /><span class="small soft" dir="auto">${row.method}</span>`}</th>
    <td><${Cell} content=${row.question} /></td>
    <td><${Cell} content=${row.answer ?? row.error} /></td>
    <td><${Cell} content=${row.expected_answer ?? row.gold?.answers?.join(" · ")} /></td>
    <td>
      <p class="small">${listOthers(row).join(", ") || "–"}</p>
      <details class="small"><summary>As read<span class="unseen">: ${row.id}</span></summary><pre class="block" tabindex="0" dir="auto">${JSON.stringify(row, null, 2)}</pre></details>
    </td>
  </tr>`;

const Cell = ({ content }) => (content ? html`<${FoldedText} content=${content} />` : html`<span class="soft">–</span>`);

/** Return what else a row holds, in words. */
function listOthers({ claims, chunks, triples, traversal, gold, usage, tags }) {
  const documents = (gold?.essential_docs?.length ?? 0) + (gold?.helpful_docs?.length ?? 0);
  return [
    claims?.length && counted(claims.length, "claim"), chunks?.length && counted(chunks.length, "chunk"),
    triples?.length && counted(triples.length, "triple"), traversal && "a walk",
    documents > 0 && counted(documents, "gold document"), gold?.expected_edges?.length && counted(gold.expected_edges.length, "gold edge"),
    usage && "usage", Object.keys(tags ?? {}).length > 0 && counted(Object.keys(tags).length, "tag"),
  ].filter(Boolean);
}

/** The button that deletes a data set, after a question. */
function DeleteDataset({ dataset: { id, name, cases } }) {
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState(null);
  async function close(answer) {
    setAsked(false);
    if (!answer) return;
    try {
      await remove(`/v1/datasets/${part(id)}`);
      announce(`${name} is deleted`);
      go("#/data");
    } catch (problem) {
      setError(problem);
    }
  }
  return html`
    <button type="button" class="danger quiet" onClick=${() => setAsked(true)}>Delete</button>
    ${asked && html`
      <${Dialog} title="Delete this data set?" onClose=${close} buttons=${html`<button class="danger" value="yes">Delete it</button>`}>
        <p>The ${counted(cases, "case")} of <bdi>${name}</bdi> are deleted from the server's disk. Its runs stay, but cannot be resumed.</p>
      <//>`}
    ${error && html`<${Dialog} title="Not done" onClose=${() => setError(null)}><${Problem} error=${error} /><//>`}`;
}

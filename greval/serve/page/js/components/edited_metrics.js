/** Edited metrics and a run: which can be read again from stored replies, and which the judge must be asked again. */

import { useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { name as part, post } from "../api.js";
import { allMetrics } from "../catalogue.js";
import { count, counted } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { Dialog } from "./dialog.js";
import { Problem } from "./notices.js";

const MAX_CHANGES = 6;

/** The button that opens the dialog; `onReplayed` is called after results were read again. */
export function EditedMetrics({ run, onReplayed }) {
  const [open, setOpen] = useState(false);
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Judge again</button>
    ${open && html`<${EditedMetricsDialog} run=${run} onClose=${() => setOpen(false)} onReplayed=${onReplayed} />`}`;
}

function EditedMetricsDialog({ run, onClose, onReplayed }) {
  const { data, error, reload } = useRequest((signal) => loadPreview(run, signal), [run.id]);
  const [problem, setProblem] = useState(null);
  const busy = useRef(false);
  async function replay(names) {
    if (busy.current) return;
    busy.current = true;
    setProblem(null);
    try {
      const { replayed } = await post(`/v1/runs/${part(run.id)}/replay`, { metrics: names });
      announce(`${counted(replayed.reduce((sum, { changed }) => sum + changed, 0), "result")} read again`);
      onReplayed();
      onClose();
    } catch (refused) {
      setProblem(refused);
    }
    busy.current = false;
  }
  return html`
    <${Dialog} title="Judge again" onClose=${onClose}>
      ${error && html`<${Problem} error=${error} retry=${reload} />`}
      ${!data && !error && html`<p class="soft">Comparing the metrics of the run with those of the library…</p>`}
      ${data && html`<${EditedList} run=${run} ...${data} onReplay=${replay} />`}
      ${problem && html`<${Problem} error=${problem} />`}
    <//>`;
}

/** Compare the judged metrics of a run with those of the library. */
async function loadPreview(run, signal) {
  const known = await allMetrics({ fresh: true });
  const names = run.metrics.filter((name) => known.has(name));
  if (!names.length) return { replayable: [], refused: [] };
  const found = await post(`/v1/runs/${part(run.id)}/replay`, { metrics: names, preview: true }, signal);
  const isJudged = ({ metric }) => known.get(metric)?.kind !== "computed";
  return { replayable: found.replayable.filter(({ changes }) => changes.length), refused: found.refused.filter(isJudged) };
}

function EditedList({ run, replayable, refused, onReplay }) {
  const results = replayable.reduce((sum, one) => sum + one.results, 0);
  const anew = (of, metrics) => at("new-run", { again: run.id, of, metric: metrics });
  const changed = refused.map(({ metric }) => metric);
  return html`
    ${replayable.length > 0 && html`
      <section class="stack-small">
        <h3>Without a call</h3>
        <p>Only how replies are counted was edited, so the replies that were paid for are read again:</p>
        <ul>${replayable.map(({ metric, changes }) => html`
          <li><span class="mono" dir="auto">${metric}</span>: <span class="soft" dir="auto">${listChanges(changes)}</span></li>`)}</ul>
        <p><button type="button" class="primary" onClick=${() => onReplay(replayable.map(({ metric }) => metric))}>
          Read ${counted(results, "result")} again
        </button></p>
      </section>`}
    ${refused.length > 0 && html`
      <section class="stack-small">
        <h3>By the judge</h3>
        <ul>${refused.map(({ metric, reason }) => html`
          <li><span class="mono" dir="auto">${metric}</span>: <span class="soft" dir="auto">${reason}</span></li>`)}</ul>
      </section>`}
    ${!replayable.length && !refused.length && html`<p>The metrics of the library are those that the run was judged by.</p>`}
    ${run.dataset && html`
      <section class="stack-small">
        <h3>In a new run</h3>
        <p>It is judged beside this one, so that both can be compared${changed.length ? html`, by the edited <bdi>${changed.join(", ")}</bdi>` : ""}:</p>
        <p class="actions">
          <a class="button" href=${anew("all", changed.length ? changed : run.metrics)}>All questions</a>
          ${run.progress?.failed > 0 && html`<a class="button" href=${anew("failed", changed.length ? changed : run.metrics)}>Those with a failure</a>`}
        </p>
      </section>`}`;
}

const listChanges = (changes) => (changes.length > MAX_CHANGES
  ? `${changes.slice(0, MAX_CHANGES).join(", ")} and ${count(changes.length - MAX_CHANGES)} more`
  : changes.join(", "));

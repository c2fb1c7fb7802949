/** What can be done with a run: cancel, resume, delete. */

import { useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { name, post, remove } from "../api.js";
import { html } from "../html.js";
import { Dialog } from "./dialog.js";
import { EditedMetrics } from "./edited_metrics.js";
import { Problem } from "./notices.js";

const HIGHER_CAP = "a higher cap goes on"; // as greval.guard says it
const COST_CAP = "(--max-cost)";

/**
 * The buttons that fit a run's status; `onChange` gets the run as it is afterwards, `onDelete` nothing. With `onReplayed`,
 * edited metrics can be applied to the run.
 */
export function RunActions({ run, onChange, onDelete, onReplayed }) {
  const [dialog, setDialog] = useState(null);
  const busy = useRef(false);
  const url = `/v1/runs/${name(run.id)}`;
  const active = run.status === "queued" || run.status === "running";

  /** Do something once at a time. The buttons are not disabled meanwhile: they would lose the focus. */
  async function act(action) {
    if (busy.current) return;
    busy.current = true;
    try {
      await action();
    } catch (error) {
      setDialog({ error });
    } finally {
      busy.current = false;
    }
  }
  const cancel = () => act(async () => onChange(await post(`${url}/cancel`)));
  const resume = (caps) => act(async () => onChange(await post(`${url}/resume`, caps)));
  const deleteRun = () => act(async () => {
    await remove(url);
    announce(`${run.name || run.id} is deleted`);
    await onDelete();
  });
  const closing = (action) => (answer) => {
    setDialog(null);
    if (answer) action(answer);
  };
  return html`
    <div class="actions">
      ${active && html`<${ActionButton} key="cancel" word="Cancel" run=${run} onClick=${cancel} />`}
      ${run.resumable && hasWork(run) && html`
        <${ActionButton} key="resume" word=${run.status === "finished" ? "Ask failed again" : "Resume"} run=${run}
          onClick=${() => (run.why?.includes(HIGHER_CAP) ? setDialog({ cap: true }) : resume())} />`}
      ${onReplayed && !active && run.kind === "run" && html`<${EditedMetrics} key="again" run=${run} onReplayed=${onReplayed} />`}
      ${!active && html`
        <${ActionButton} key="delete" word="Delete" run=${run} tone="danger quiet" onClick=${() => setDialog({ deletion: true })} />`}
      ${dialog?.error && html`<${Dialog} title="Not done" onClose=${closing(() => {})}><${Problem} error=${dialog.error} /><//>`}
      ${dialog?.cap && html`<${CapDialog} why=${run.why} onClose=${closing(resume)} />`}
      ${dialog?.deletion && html`<${DeleteDialog} run=${run} onClose=${closing(deleteRun)} />`}
    </div>`;
}

const ActionButton = ({ word, run, tone = "", onClick }) => html`
  <button type="button" class=${tone} aria-label=${`${word} ${run.name || run.id}`} onClick=${onClick}>${word}</button>`;

/** Return whether there is something that resuming would ask for. */
function hasWork({ status, progress }) {
  if (status === "queued" || status === "running") return false;
  return status !== "finished" || Boolean(progress?.failed || progress?.items_failed);
}

/** Ask for a higher cap; `onClose` gets the caps, or nothing. */
function CapDialog({ why, onClose }) {
  const input = useRef(null);
  const cost = why.includes(COST_CAP);
  const finish = (answer) => onClose(answer && Number(input.current.value)
    ? { [cost ? "max_cost" : "max_calls"]: Number(input.current.value) }
    : null);
  return html`
    <${Dialog} title="Go on with a higher cap" onClose=${finish} buttons=${html`<button value="yes">Go on</button>`}>
      <p><bdi>${why}</bdi></p>
      <p><label>
        ${cost ? "At most so many US dollars, those spent before included " : "At most so many calls, those made before included "}
        <input type="number" min=${cost ? "0.000001" : "1"} step=${cost ? "any" : "1"} required ref=${input} />
      </label></p>
    <//>`;
}

const DeleteDialog = ({ run, onClose }) => html`
  <${Dialog} title="Delete this run?" onClose=${onClose} buttons=${html`<button class="danger" value="yes">Delete it</button>`}>
    <p>All results of <bdi>${run.name || run.id}</bdi> are deleted from the server's disk. This cannot be undone.</p>
  <//>`;

/** The runs: newest first, those at work with live progress. */

import { useEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { get } from "../api.js";
import { RunBadge } from "../components/badge.js";
import { EmptyState, Problem } from "../components/notices.js";
import { ProgressBar, QUEUED } from "../components/progress_bar.js";
import { RunActions } from "../components/run_actions.js";
import { RunMeans } from "../components/run_means.js";
import { ViewHead } from "../components/view_head.js";
import { counted, date } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { follow } from "../stream.js";

const PAGE = 50;
const MAX_STREAMS = 3; // a browser opens few connections to one server, and other requests need some
const REFRESH_MS = 4000;

/** The list of runs, which keeps itself up to date. */
export function RunsView() {
  const { data: newest, error, loading, reload } = useRequest((signal) => get("/v1/runs", { limit: PAGE }, signal), []);
  const [older, setOlder] = useState({ runs: [], next: null });
  const [changes, setChanges] = useState(new Map());
  const [chosen, setChosen] = useState([]);
  useEffect(() => {
    if (loading) return undefined;
    const timer = setInterval(() => document.hidden || reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [loading]);
  useEffect(() => setChanges(new Map()), [newest]);
  const runs = mergeRuns(newest, older.runs).map((run) => changes.get(run.id) ?? run);
  const update = (run) => setChanges((before) => new Map(before).set(run.id, run));
  useProgress(runs, update);
  const next = older.runs.length ? older.next : newest?.next;
  async function loadOlder() {
    const found = await get("/v1/runs", { limit: PAGE, cursor: next });
    setOlder({ runs: [...older.runs, ...found.runs], next: found.next });
  }
  return html`
    <${ViewHead} title="Runs" actions=${html`<div class="actions"><a class="button" href="#/history">History</a><a class="button" href="#/import">Import verdicts</a><a class="button primary" href="#/new-run">Start a run</a></div>`} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${newest && !runs.length && html`
      <${EmptyState} title="No run yet.">
        Upload cases and judge them: <a href="#/new-run">start a run</a>. Runs that the command line makes in the server's folder appear here too.
      <//>`}
    ${runs.length > 1 && html`<${ChosenRuns} chosen=${runs.filter(({ id }) => chosen.includes(id))} />`}
    <ul class="runs">${runs.map((run) => html`
      <${RunRow} key=${run.id} run=${run} onChange=${update} onDelete=${reload} chosen=${runs.length > 1 ? chosen.includes(run.id) : null}
        onChoose=${() => setChosen(toggle(chosen, run.id))} />`)}</ul>
    ${next && html`<button type="button" onClick=${loadOlder}>Older runs</button>`}`;
}

/** Return the chosen ids with one more or without it; of three the first goes. */
const toggle = (chosen, id) => (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));

/** The ways to two runs, the older one as what the newer one is compared with. */
function ChosenRuns({ chosen }) {
  const [newer, older] = chosen;
  return html`
    <p class="chosen-runs">
      ${older
        ? html`
          <a class="button" href=${at("compare", { run: newer.id, against: older.id })}>Compare</a>
          <a class="button" href=${at(["runs", newer.id], { tab: "cases", beside: `run:${older.id}` })}>Side by side</a>`
        : html`<span class="soft small">Choose two runs to compare them, or to see their cases side by side.</span>`}
    </p>`;
}

/** Return the newest runs, then the older ones that have been loaded. */
function mergeRuns(newest, older) {
  const runs = newest?.runs ?? [];
  const ids = new Set(runs.map(({ id }) => id));
  return [...runs, ...older.filter(({ id }) => !ids.has(id))];
}

/** Follow the runs at work, as many as a browser has connections for. */
function useProgress(runs, update) {
  const streams = useRef(new Map());
  useEffect(() => {
    for (const run of runs) {
      if (run.status !== "running" || streams.current.has(run.id) || streams.current.size >= MAX_STREAMS) continue;
      const controller = new AbortController();
      streams.current.set(run.id, controller);
      follow(run.id, (progress) => update({ ...run, progress }), controller.signal)
        .then((end) => end && update(end))
        .catch(() => {}) // the list is requested again anyway
        .finally(() => streams.current.delete(run.id));
    }
  });
  useEffect(() => () => streams.current.forEach((controller) => controller.abort()), []);
}

const isEnded = ({ status }) => status === "finished" || status === "stopped";

function RunRow({ run, onChange, onDelete, chosen, onChoose }) {
  const why = run.why ?? (run.status === "queued" ? QUEUED : null);
  return html`
    <li class="sheet run" data-id=${run.id}>
      <div class="run-top">
        <div class="stack-small">
          <div class="run-name">
            ${chosen !== null && html`
              <input type="checkbox" aria-label=${`Choose ${run.name || run.id} to see it beside another run`} checked=${chosen} onChange=${onChoose} />`}
            <a class="run-link" href=${at(["runs", run.id])} dir="auto">${run.name || run.id}</a><${RunBadge} status=${run.status} />
          </div>
          <p class="small soft">${[counted(run.metrics.length, "metric"), run.judge, date(run.created)].filter(Boolean).join(" · ")}</p>
        </div>
        <${RunActions} run=${run} onChange=${onChange} onDelete=${onDelete} />
      </div>
      ${why && html`<p class="small" dir="auto">${why}</p>`}
      ${run.kind === "run" && isEnded(run) && html`<${RunMeans} run=${run} />`}
      ${(run.progress || run.status !== "finished") && html`
        <${ProgressBar} progress=${run.progress} live=${run.status === "running"} bar=${run.status !== "finished"} />`}
    </li>`;
}

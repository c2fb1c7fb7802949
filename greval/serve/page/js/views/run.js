/** A run: live progress, then its summary, results and cases. */

import { useLayoutEffect, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { get, name as part } from "../api.js";
import { RunBadge } from "../components/badge.js";
import { Downloads } from "../components/downloads.js";
import { EmptyState, Notice, Problem } from "../components/notices.js";
import { ProgressBar, QUEUED, describeProgress } from "../components/progress_bar.js";
import { RunActions } from "../components/run_actions.js";
import { ViewHead } from "../components/view_head.js";
import { date } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";
import { follow } from "../stream.js";
import { RunCases } from "./run_cases.js";
import { RunSummary } from "./run_summary.js";

const TABS = { summary: ["Summary", RunSummary], cases: ["Cases", RunCases] };
const ANNOUNCE_MS = 8000; // how often progress is read aloud
const REFRESH_MS = 5000; // how often the figures of a running run are requested again

/** A run, which is followed while it runs. */
export function RunView({ params: { id }, query }) {
  const { run, update, refresh, error, retry, version } = useFollowedRun(id);
  const wanted = query.get("tab");
  const tab = Object.hasOwn(TABS, wanted) ? wanted : "summary";
  const [, Tab] = TABS[tab];
  return html`
    <${ViewHead} crumbs=${[["#/runs", "Runs"]]} title=${run?.name || id} lead=${run ? describeRun(run) : "\u00a0"}
      actions=${run && html`
        <div class="actions">
          <${RunBadge} status=${run.status} /><${RunActions} run=${run} onChange=${update} onDelete=${() => go("#/runs")} onReplayed=${refresh} />
        </div>`} />
    ${error && html`<${Problem} error=${error} retry=${retry} />`}
    ${run?.why && html`<${Notice} tone=${run.status === "failed" ? "bad" : "warn"}><p dir="auto">${run.why}</p><//>`}
    ${(run ? isActive(run) || (tab === "summary" && run.progress) : tab === "summary") && html`
      <${ProgressBar} progress=${run?.progress} live=${run?.status === "running"} bar=${run && run.status !== "finished"} />`}
    ${tab === "summary" && run && !isEmpty(run) && html`<${Downloads} of="the run" files=${listFiles(id, query.get("by"))} />`}
    <nav class="subtabs" aria-label="Parts of the run">
      ${run && Object.entries(TABS).map(([name, [word]]) => html`
        <a key=${name} href=${at(["runs", id], name === "summary" ? {} : { tab: name })} aria-current=${name === tab ? "page" : null}>${word}</a>`)}
      ${run && html`<a key="compare" href=${at("compare", { run: id })}>Compare methods</a>`}
      ${run && html`<a key="label" href=${at(["runs", id, "label"])}>Label</a>`}
    </nav>
    <div class="stack" data-tab>
      ${run && isEmpty(run)
        ? html`<${NothingYet} status=${run.status} />`
        : (run || (tab === "cases" && !error)) && html`<${Tab} key=${tab} run=${run ?? { id }} query=${query} version=${version} />`}
    </div>`;
}

/**
 * Load a run and follow it until it ends; one stream is enough.
 * @returns {{run, update, refresh, error, retry, version}} `version` changes whenever the figures should be requested again
 */
function useFollowedRun(id) {
  const { data, error: refused, reload } = useRequest((signal) => get(`/v1/runs/${part(id)}`, {}, signal), [id]);
  const [run, setRun] = useState(null);
  const [broken, setBroken] = useState(null);
  const [version, setVersion] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const active = run !== null && isActive(run);
  const update = (changed) => {
    if (run && run.status !== changed.status) announce(`${changed.name} is ${changed.status}`);
    setRun(changed);
    setVersion((number) => number + 1);
  };
  const refresh = async () => update(await get(`/v1/runs/${part(id)}`));
  useLayoutEffect(() => {
    if (data) setRun(data);
  }, [data]);
  useLayoutEffect(() => {
    if (!active) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const pace = { announced: 0, refreshed: 0 };
    const isDue = (name, interval) => {
      const due = performance.now() - pace[name] > interval;
      if (due) pace[name] = performance.now();
      return due;
    };
    const step = (progress) => {
      setRun((before) => ({ ...before, status: before.status === "queued" ? "running" : before.status, progress }));
      if (isDue("announced", ANNOUNCE_MS)) announce(describeProgress(progress));
      const reading = document.querySelector("[data-tab]")?.contains(document.activeElement);
      if (!reading && isDue("refreshed", REFRESH_MS)) setVersion((number) => number + 1);
    };
    const end = async () => {
      const last = (await follow(id, step, signal)) ?? (await get(`/v1/runs/${part(id)}`, {}, signal));
      announce(`${last.name} is ${last.status}`);
      setRun(last);
      setVersion((number) => number + 1);
    };
    setBroken(null);
    end().catch((error) => signal.aborted || setBroken(error));
    return () => controller.abort();
  }, [id, active, attempt]);
  return {
    run, update, refresh, version, error: refused ?? broken, retry: refused ? reload : () => setAttempt((number) => number + 1),
  };
}

const isActive = ({ status }) => status === "queued" || status === "running";

const isEmpty = (run) => isActive(run) && !run.progress?.done;

const describeRun = ({ judge, metrics, dataset, created }) =>
  [judge, metrics.join(", "), `data ${dataset ?? "not known here"}`, date(created)].filter(Boolean).join(" · ");

function listFiles(id, by) {
  const url = `/v1/runs/${part(id)}`;
  return [
    ["HTML report", `${url}/report.html`, { by }], ["Chart", `${url}/report.svg`, { by }],
    ["CSV", `${url}/results.csv`, { texts: true }], ["JSON lines", `${url}/results.jsonl`], ["Metric files", `${url}/metrics.zip`],
  ];
}

const NothingYet = ({ status }) => (status === "queued"
  ? html`<${EmptyState} title="Queued.">${QUEUED}<//>`
  : html`<${EmptyState} title="No judgement yet.">They appear here as they are made.<//>`);

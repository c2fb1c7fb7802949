/** One case of a run: what was judged, and every verdict with its reason side by side. */

import { get, name as part } from "../api.js";
import { knownMetrics } from "../catalogue.js";
import { CaseDetails } from "../components/case_details.js";
import { JudgeCalls } from "../components/judge_calls.js";
import { Notice, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { WalkPicture } from "../components/walk_picture.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";

/** The case that the address names. */
export function CaseView({ params: { id: run }, query }) {
  const [id, method] = [query.get("sample_id") ?? "", query.get("method") ?? ""];
  const crumbs = [["#/runs", "Runs"], [at(["runs", run]), run], [at(["runs", run], { tab: "cases" }), "Cases"]];
  return html`
    <${ViewHead} crumbs=${crumbs} title=${id || "Case"} lead=${method && html`answered by <bdi>${method}</bdi>`} />
    <${CaseBody} run=${run} id=${id} method=${method} />`;
}

/** A case of a run with its verdicts. */
export function CaseBody({ run, id, method }) {
  const { data, error, reload } = useRequest((signal) => loadCase(run, id, method, signal), [run, id, method]);
  const picture = html`<${WalkPicture} run=${run} id=${id} method=${method} />`;
  const calls = (result) => html`<${JudgeCalls} run=${run} result=${result} />`;
  return html`
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${FailedMetrics} results=${data.results} /><${CaseDetails} ...${data} picture=${picture} calls=${calls} />`}`;
}

async function loadCase(run, id, method, signal) {
  const { case: given, results } = await get(`/v1/runs/${part(run)}/case`, { sample_id: id, method }, signal);
  return { given, results, metrics: await knownMetrics(results.map(({ metric }) => metric), signal) };
}

function FailedMetrics({ results }) {
  const failed = results.filter(({ outcome }) => outcome.status === "failed").map(({ metric }) => metric);
  if (!failed.length) return null;
  return html`<${Notice} tone="warn"><p>Failed: ${failed.join(", ")}. Why, and what to do, stands beside what was judged.</p><//>`;
}

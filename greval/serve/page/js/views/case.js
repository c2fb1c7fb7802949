/** One case of a run: what was judged, and every verdict with its reason side by side. */

import { get, name as part } from "../api.js";
import { data, fill, h } from "../dom.js";
import { knownMetrics } from "../parts/catalogue.js";
import { caseSheets } from "../parts/material.js";
import { notice } from "../parts/problem.js";
import { crumb } from "../parts/table.js";
import { at } from "../router.js";

const WHERE = "Why, and what to do, stands beside what was judged.";

/** Show the case that the address names. */
export async function caseView({ root, params, query, signal }) {
  const [id, method] = [query.get("sample_id") ?? "", query.get("method") ?? ""];
  fill(root, h("div", { class: "head" }, h("div", null,
    h("p", { class: "crumbs" }, crumb("#/runs", "Runs"), " / ", crumb(at(["runs", params.id]), params.id), " / ",
      crumb(at(["runs", params.id], { tab: "cases" }), "Cases")),
    h("h1", { dir: "auto" }, id || "Case"),
    method ? h("p", { class: "soft" }, "answered by ", data(method)) : null)));
  const found = await get(`/v1/runs/${part(params.id)}/case`, { sample_id: id, method }, signal);
  const known = await knownMetrics(found.results.map(({ metric }) => metric), signal);
  const failed = found.results.filter(({ outcome }) => outcome.status === "failed").map(({ metric }) => metric);
  root.append(...[
    failed.length ? notice("warn", h("p", null, `Failed: ${failed.join(", ")}. ${WHERE}`)) : null,
    ...caseSheets(found.case, found.results, known),
  ].filter(Boolean));
}

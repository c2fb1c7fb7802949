/** Comparing the methods of a run: difference with its interval, test, and questions won, tied and lost. */

import { get, name as part } from "../api.js";
import { fill, h } from "../dom.js";
import { contrastTables } from "../parts/contrasts.js";
import { choice, entry, field, options } from "../parts/field.js";
import { empty, notice, problemBox } from "../parts/problem.js";
import { at, go } from "../router.js";

const LOUD = "NOT COMPARABLE";
const CHOICES = ["run", "baseline", "metric", "by"];
const MOST_RUNS = 100;

/** Show the choice of a run and a baseline, and the comparison. */
export async function compareView({ root, query, signal }) {
  const wanted = Object.fromEntries(CHOICES.map((name) => [name, query.get(name)]));
  fill(root, h("div", { class: "head" }, h("div", null, h("h1", null, "Compare methods"),
    h("p", { class: "soft" }, "Question by question, with how sure each difference is."))));
  const { runs } = await get("/v1/runs", { limit: MOST_RUNS }, signal);
  const listed = runs.find(({ id }) => id === wanted.run);
  const run = wanted.run ? (listed ?? (await get(`/v1/runs/${part(wanted.run)}`, {}, signal))) : null;
  const out = h("div", { class: "stack" }, missing(runs, run));
  root.append(filters(listed || !run ? runs : [run, ...runs], run, wanted), out);
  if (!out.children.length) await show(out, run, wanted, signal);
}

/** Say what has to be done before there is something to compare; null where nothing. */
function missing(runs, run) {
  if (run?.methods?.length < 2) {
    return empty("This run holds one method only.",
      "Judge the answers of two methods in one run: each row of the data names its method.");
  }
  if (run) return null;
  if (runs.length) return empty("Choose a run.", "Its methods are compared with each other, or with a baseline of them.");
  return empty("No run to compare yet.", h("a", { href: "#/new-run" }, "Start a run"), " over cases of several methods.");
}

async function show(out, run, { baseline, metric, by }, signal) {
  fill(out, h("div", { class: "empty busy" }, h("p", { class: "empty-title" }, "Comparing…")));
  try {
    const found = await get(`/v1/runs/${part(run.id)}/compare`, { baseline, metric, by }, signal);
    const loud = found.warnings.filter((line) => line.startsWith(LOUD));
    const others = found.warnings.filter((line) => !line.startsWith(LOUD));
    fill(out,
      loud.map((line) => notice("bad", h("p", { dir: "auto" }, line))),
      contrastTables(found),
      unnumbered(found.without_numbers),
      others.length ? notice("warn", h("p", null, "Mind, before you rely on it:"), listOf(others)) : null);
  } catch (error) {
    if (!signal.aborted) fill(out, problemBox(error));
  }
}

const listOf = (lines) => h("ul", { class: "faults" }, lines.map((line) => h("li", { dir: "auto" }, line)));

function unnumbered(metrics) {
  if (!metrics?.length) return null;
  const told = `Not compared, as none of their values reads as a number: ${metrics.join(", ")}.`;
  return notice("plain", h("p", null, told, " Give their categories scores."));
}

function filters(runs, run, wanted) {
  const turn = (change) => go(at("compare", Object.assign(wanted, change)));
  const select = (label, name, pairs, also = {}) =>
    field(label, choice(pairs, wanted[name] ?? "", (value) => turn({ [name]: value, ...also })));
  const names = runs.map(({ id, name }) => [id, name && name !== id ? `${name} (${id})` : id]);
  const chosen = run && [
    run.methods
      ? select("Baseline", "baseline", options("none: all pairs", run.methods))
      : field("Baseline", entry(wanted.baseline, "a method's name", (baseline) => turn({ baseline }))),
    select("Metric", "metric", options("all", run.metrics)),
    field("Group by tag", entry(wanted.by, "such as query_type", (by) => turn({ by }))),
  ];
  return h("form", { class: "filters-row", onsubmit: (event) => event.preventDefault() },
    select("Run", "run", [["", "Choose a run…"], ...names], { baseline: null, metric: null }), chosen);
}

/** The summary of a run: each metric with its figures, and what was spent. */

import { get, name as part } from "../api.js";
import { fill, h } from "../dom.js";
import { count, counted } from "../format.js";
import { knownMetrics } from "../parts/catalogue.js";
import { grouped } from "../parts/grouping.js";
import { empty, notice } from "../parts/problem.js";
import { summarySheet } from "../parts/summary.js";
import { at, go } from "../router.js";

const MOST_ROWS = 5;

/** Show the summary in a place. */
export async function summaryTab({ place, run, query, signal }) {
  const by = query.get("by");
  const report = await get(`/v1/runs/${part(run.id)}/report`, { by }, signal);
  const known = await knownMetrics([...new Set(report.summaries.map(({ metric }) => metric))], signal);
  if (signal.aborted) return;
  const groups = grouped(report.summaries, ({ metric }) => metric);
  const pending = report.pending ?? {};
  fill(place,
    grouping(run, by),
    [...groups].map(([name, summaries]) => summarySheet(run.id, name, summaries, {
      metric: known.get(name), listed: report.scales?.[name], by: report.by, pending: pending[name],
    })),
    groups.size ? null : empty("No judgement yet.", "They appear here as they are made."),
    unread(report),
    (report.stopped ?? []).map((why) => h("p", { class: "warn-text small" }, `Stopped: ${why}.`)),
    others(report),
    spending(report.summaries));
}

function others({ others: many }) {
  if (!many) return null;
  const rows = `${counted(many, "row")} of other cases, answers, judges or definitions`;
  return h("p", { class: "soft small" }, `${rows}: not counted.`);
}

/** Give the form that groups by a tag. */
function grouping(run, by) {
  const input = h("input", { type: "text", id: "by", value: by ?? "", placeholder: "method", autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    go(at(["runs", run.id], { by: input.value.trim() }));
  };
  return h("form", { class: "inline-form", onsubmit: submit },
    h("label", { for: "by" }, "Group by"), input, h("button", null, "Group"),
    h("span", { class: "soft small" }, "method, or a tag such as query_type"));
}

function unread(report) {
  const many = Math.max(report.unread_count ?? 0, report.unread?.length ?? 0);
  if (!many) return null;
  const were = many === 1 ? "was" : "were";
  return notice("warn", h("p", null, `${counted(many, "row")} of the data could not be read and ${were} passed over:`),
    h("ul", { class: "faults" }, report.unread.slice(0, MOST_ROWS).map((row) => h("li", { dir: "auto" }, row)),
      many > MOST_ROWS ? h("li", null, `and ${count(many - MOST_ROWS)} more`) : null));
}

/** Say what the judge was asked for all of it. */
function spending(summaries) {
  const sum = (field) => summaries.reduce((total, { usage }) => total + (usage[field] ?? 0), 0);
  if (!sum("calls")) return null;
  const [calls, read, wrote] = [counted(sum("calls"), "call"), count(sum("input_tokens")), count(sum("output_tokens"))];
  return h("p", { class: "soft small" }, `${calls} of the judge · ${read} tokens in · ${wrote} out`);
}

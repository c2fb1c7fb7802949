/** Verdicts: the value with its reason, what else the judge noted, and what it cost. */

import { h, text } from "../dom.js";
import { count, counted, percent, seconds } from "../format.js";
import { badge, outcomeBadge } from "./badge.js";
import { failureBlock } from "./failure.js";
import { notesList } from "./notes.js";
import { meaning, toneClass, written } from "./scale.js";
import { metricLink } from "./table.js";

const MOST_NUMBERS = 20;

/** Give a value as a coloured mark. */
export function valueChip(value, scale, number = null) {
  const differs = number !== null && number !== undefined && String(number) !== String(value) && typeof value !== "number";
  return h(
    "span",
    { class: `value ${toneClass(scale, value)}`, title: meaning(scale, value) },
    h("span", { class: "value-word", dir: "auto" }, written(scale, value)),
    differs ? h("span", { class: "value-number", title: "counts as" }, written(null, number)) : null,
  );
}

/** Give a judgement: value, findings of the steps, reason, confidence, votes, notes, ids of what had numbers. */
export function judgementBlock(judgement, scale) {
  return h(
    "div",
    { class: "judgement" },
    h("p", { class: "judgement-head" }, valueChip(judgement.value, scale, judgement.number), ...sureness(judgement)),
    judgement.findings?.length ? findingsList(judgement.findings) : null,
    judgement.reason ? h("p", null, text(judgement.reason)) : null,
    notesList(judgement.notes),
    numbersLine(judgement.shown_ids),
  );
}

function findingsList(findings) {
  return h("ol", { class: "findings", "aria-label": "What each step found" },
    findings.map((finding) => h("li", null, text(finding))));
}

/** Give the ids of the items that the judge was shown by number; null where nothing had one. */
function numbersLine(shown) {
  const named = Object.entries(shown ?? {}).flatMap(([kind, ids]) => ids.map((id, at) => `${kind} ${at + 1} is ${id}`));
  if (!named.length) return null;
  const rest = named.length > MOST_NUMBERS ? ` and ${named.length - MOST_NUMBERS} more` : "";
  return h("p", { class: "soft small" }, text(`As the judge saw them: ${named.slice(0, MOST_NUMBERS).join(", ")}${rest}`));
}

function* sureness({ confidence, votes, flip_rate: flips }) {
  if (typeof confidence === "number") {
    yield h("span", { class: "soft small", title: "The probability that the judge gave to this value" },
      `confidence ${percent(confidence)}`);
  }
  if (votes) {
    const said = Object.entries(votes).map(([value, many]) => `${value} ${many}`).join(", ");
    yield h("span", { class: "soft small", title: "What the repeats gave" }, `votes: ${said}`);
  }
  if (flips) yield h("span", { class: "soft small" }, `${percent(flips)} differ`);
}

/** Give a result that is about the case as a whole, or that has no items: verdict, skip or failure. */
export function resultBlock(result, metric) {
  const { outcome } = result;
  return h(
    "article",
    { class: `verdict ${outcome.status}`, "aria-label": result.metric },
    h("header", { class: "verdict-head" },
      h("h3", { class: "mono" }, metricLink(result.metric)),
      result.repeat ? badge(`repeat ${result.repeat + 1}`) : null,
      outcome.status === "scored" ? null : outcomeBadge(outcome.status)),
    ...outcomeParts(outcome, metric?.scale),
    spent(result),
  );
}

/** Give a result in one line: computed, or skipped. */
export function briefRow(result, metric) {
  const { outcome } = result;
  const [judgement] = outcome.judgements ?? [];
  return h(
    "article",
    { class: "brief-row", "aria-label": result.metric },
    h("h3", { class: "mono" }, metricLink(result.metric)),
    judgement ? valueChip(judgement.value, metric?.scale) : outcomeBadge("skipped"),
    h("p", { class: judgement ? "" : "soft" }, text(judgement ? judgement.reason : outcome.reason)),
  );
}

function* outcomeParts(outcome, scale) {
  if (outcome.status === "skipped") yield h("p", { class: "soft" }, text(outcome.reason));
  for (const judgement of outcome.judgements ?? []) yield judgementBlock(judgement, scale);
  yield* failuresOf(outcome).filter((failure) => !failure.item).map(failureBlock);
}

/** Give every failure of an outcome. */
export function failuresOf(outcome) {
  if (outcome.failures?.length) return outcome.failures;
  return outcome.error ? [outcome.error] : [];
}

/** Give what a result cost. */
export function spent({ usage, latency, tier, judge }) {
  if (tier === "computed") return h("p", { class: "spent" }, "computed, no judge asked");
  const parts = [judge, counted(usage.calls, "call")];
  if (usage.input_tokens !== null) parts.push(`${count(usage.input_tokens)} tokens in`);
  if (usage.cached_tokens) parts.push(`${count(usage.cached_tokens)} of them cached`);
  if (usage.output_tokens !== null) parts.push(`${count(usage.output_tokens)} out`);
  if (usage.hits) parts.push(`${counted(usage.hits, "answer")} from the cache`);
  parts.push(seconds(latency));
  return h("p", { class: "spent" }, parts.join(" · "));
}

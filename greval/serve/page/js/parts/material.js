/** What was judged, with the verdicts beside it: the case as a whole, each chunk, each triple, the walk. */

import { data, h, text } from "../dom.js";
import { count, dollars, figure, seconds } from "../format.js";
import { badge } from "./badge.js";
import { failureBlock } from "./failure.js";
import { briefRow, failuresOf, judgementBlock, resultBlock, spent } from "./verdict.js";
import { walk } from "./walk.js";

/**
 * Give a case with its verdicts.
 * @param {Object} given the case
 * @param {Array} results its results
 * @param {Map} metrics what is known of each metric, by name
 * @param {boolean} asked whether question and answer are shown too
 */
export function caseSheets(given, results, metrics, { asked = true } = {}) {
  const over = { chunks: [], triples: [] };
  const whole = [];
  for (const result of results) (over[metrics.get(result.metric)?.over ?? itemsOf(given, result)] ?? whole).push(result);
  const verdicts = wholeVerdicts(whole, metrics);
  return [
    asked
      ? h("section", { class: "pair", "aria-label": "Question and answer" },
        h("div", { class: "stack aside" }, h("div", { class: "sheet" }, askedParts(given)), aside(given)),
        h("div", { class: "stack" }, verdicts.length ? verdicts : h("p", { class: "soft" }, "Nothing judged the whole case.")))
      : h("div", { class: "cards" }, verdicts),
    items("Chunks", given.chunks, chunkText(given.gold), over.chunks, metrics),
    items("Triples", given.triples, tripleText, over.triples, metrics),
    given.traversal ? h("section", { class: "sheet" }, h("h2", null, "Walk"), walk(given)) : null,
    asked ? null : aside(given),
  ];
}

/** Give what needs room first, failures before all; then one line for each that was computed or skipped. */
function wholeVerdicts(results, metrics) {
  const brief = ({ outcome: { status }, tier }) => status === "skipped" || (tier === "computed" && status === "scored");
  const full = results.filter((result) => !brief(result))
    .toSorted((a, b) => Number(b.outcome.status === "failed") - Number(a.outcome.status === "failed"));
  const short = results.filter(brief);
  const row = (result) => briefRow(result, metrics.get(result.metric));
  return [
    ...full.map((result) => resultBlock(result, metrics.get(result.metric))),
    ...(short.length ? [h("section", { class: "sheet brief", "aria-label": "Computed and skipped" }, short.map(row))] : []),
  ];
}

/** Say what a result's items are, where its metric is no longer known: by their ids. */
function itemsOf(given, { outcome }) {
  const id = [...(outcome.judgements ?? []), ...failuresOf(outcome)].find(({ item }) => item)?.item;
  return id === undefined ? null : given.chunks?.some((chunk) => chunk.id === id) ? "chunks" : "triples";
}

function askedParts(given) {
  return [
    said("Question", given.question),
    said("Answer", given.answer, "No answer is recorded."),
    given.expected_answer ? said("Expected answer", given.expected_answer) : null,
    given.gold?.answers?.length ? said("Also right", given.gold.answers.join("\n")) : null,
    given.error ? said("The method failed", given.error) : null,
    given.aggregates?.length ? said("Computed texts given to the model", given.aggregates.join("\n")) : null,
  ];
}

const said = (name, content, none = "–") =>
  h("div", { class: "said" }, h("h3", null, name), content ? h("p", null, text(content)) : h("p", { class: "soft" }, none));

/** Give one row for each item, its verdicts beside it. */
function items(name, things, content, results, metrics) {
  if (!things?.length && !results.length) return null;
  const whole = results.filter(({ outcome }) => !outcome.judgements && !failuresOf(outcome).some(({ item }) => item));
  return h("section", { class: "sheet", "aria-label": name },
    h("header", { class: "verdict-head" }, h("h2", null, name), h("span", { class: "soft" }, count(things?.length))),
    whole.map((result) => resultBlock(result, metrics.get(result.metric))),
    h("ol", { class: "items" }, (things ?? []).map((thing) =>
      h("li", { class: "item" },
        h("div", { class: "item-text" }, content(thing)),
        h("div", { class: "stack-small" },
          results.map((result) => itemVerdict(result, thing.id, metrics, results.length > 1)))))),
    results.filter((result) => !whole.includes(result)).map(spent));
}

function itemVerdict(result, id, metrics, named) {
  const scale = metrics.get(result.metric)?.scale;
  const judged = (result.outcome.judgements ?? []).filter(({ item }) => item === id);
  const failed = failuresOf(result.outcome).filter(({ item }) => item === id);
  if (!judged.length && !failed.length) return null;
  return h("div", { class: "item-verdict" },
    named ? h("p", { class: "small soft mono" }, result.metric) : null,
    judged.map((judgement) => judgementBlock(judgement, scale)),
    failed.map(failureBlock));
}

/** Give a function that shows a chunk; the gold says which documents it should have. */
const chunkText = (gold) => (chunk) => [
  h("p", { class: "item-head small soft" },
    h("code", null, chunk.id),
    chunk.doc_id && chunk.doc_id !== chunk.id ? h("span", null, "of ", h("code", null, chunk.doc_id)) : null,
    h("span", null, [chunk.repo, chunk.version].filter(Boolean).join(" ")),
    typeof chunk.score === "number" ? h("span", null, `score ${figure(chunk.score)}`) : null,
    gold?.essential_docs?.includes(chunk.doc_id) ? badge("essential", "good") : null,
    gold?.helpful_docs?.includes(chunk.doc_id) ? badge("helpful", "good") : null),
  h("p", null, text(chunk.text)),
];

const tripleText = (triple) => [
  h("p", { class: "item-head small soft" }, h("code", null, triple.id)),
  h("p", { class: "triple" },
    text(triple.subject, "node"), h("span", { class: "edge-label" }, data(triple.predicate)), text(triple.object, "node")),
];

/** What else is known of a case: what should have been found, what the method spent, tags. */
function aside(given) {
  const found = new Set((given.chunks ?? []).map((chunk) => chunk.doc_id));
  const parts = [
    goldDocs("Essential documents", given.gold?.essential_docs, found),
    goldDocs("Helpful documents", given.gold?.helpful_docs, found),
    goldDocs("Essential repositories", given.gold?.essential_repos, new Set((given.chunks ?? []).map(({ repo }) => repo))),
    given.usage ? row("Spent by the method", spentBy(given.usage)) : null,
    Object.keys(given.tags ?? {}).length
      ? row("Tags", Object.entries(given.tags).map(([name, value]) => badge(`${name}: ${value}`)))
      : null,
  ].filter(Boolean);
  if (!parts.length) return null;
  return h("section", { class: "sheet" }, h("h2", null, "Gold and effort"), h("dl", { class: "facts" }, parts));
}

const row = (name, content) => [h("dt", null, name), h("dd", null, content)];

function goldDocs(name, docs, found) {
  if (!docs?.length) return null;
  return row(name, docs.map((doc) =>
    badge([data(doc), found.has(doc) ? " found" : " missed"], found.has(doc) ? "good" : "bad")));
}

function spentBy({ latency, llm_calls: calls, prompt_tokens: read, output_tokens: wrote, cost }) {
  return [
    typeof latency === "number" ? seconds(latency) : null,
    typeof calls === "number" ? `${count(calls)} model calls` : null,
    typeof read === "number" ? `${count(read)} tokens in` : null,
    typeof wrote === "number" ? `${count(wrote)} out` : null,
    typeof cost === "number" ? dollars(cost) : null,
  ].filter(Boolean).join(" · ");
}

/** A case with its verdicts beside what was judged: the case as a whole, each claim, each chunk, each triple, the walk. */

import { count, counted, dollars, figure, formatHistory, seconds } from "../format.js";
import { html } from "../html.js";
import { namesOfPair } from "../response_pair.js";
import { Badge } from "./badge.js";
import { FailureDetails, failuresOf } from "./failure_details.js";
import { FoldedText } from "./folded_text.js";
import { JudgementDetails } from "./judgement_details.js";
import { ResultCard, ResultRow, ResultUsage } from "./result_card.js";
import { Text } from "./text.js";
import { WalkDetails } from "./walk_details.js";
import { SentWalkPicture } from "./walk_picture.js";

const ITEMS = ["claims", "expected_claims", "chunks", "triples"];
/** The metric that lists the claims of a field, and the letter of their ids. */
const CLAIM_LISTS = { claims: ["answer_claims", "a"], expected_claims: ["expected_answer_claims", "e"] };

/**
 * A case of a run: its texts beside the verdicts, then everything that was retrieved. `metrics` are known by name,
 * `picture` shows the walk, and `calls` what the judge of a result saw.
 */
export function CaseDetails({ given: stored, results, metrics, picture, calls }) {
  if (stored.other_response) return html`<${PairDetails} given=${stored} results=${results} metrics=${metrics} picture=${picture} calls=${calls} />`;
  const given = addClaims(stored, results);
  const { whole, ...items } = groupByItems(given, results, metrics);
  return html`
    <section class="pair" aria-label="Question and answer">
      <div class="stack aside">
        <div class="sheet"><h2 class="unseen">Question and answer</h2><${CaseTexts} given=${given} /></div>
        <${GoldAndUsage} given=${given} />
      </div>
      <div class="stack">
        ${whole.length ? html`<${WholeResults} results=${whole} metrics=${metrics} calls=${calls} />` : html`<p class="soft">Nothing judged the whole case.</p>`}
      </div>
    </section>
    <${JudgedItems} given=${given} items=${items} metrics=${metrics} picture=${picture} calls=${calls} />`;
}

/** A pair: its question above both answers, which are side by side, and below them what was judged. */
const PairDetails = ({ given, ...judged }) => html`
  <section class="sheet" aria-label="Question"><h2 class="unseen">Question</h2><${CaseTexts} given=${given} /></section>
  <${BothAnswers} given=${given} />
  <${CaseVerdicts} given=${given} ...${judged} />`;

/** The verdicts on a case whose texts are shown elsewhere, and what was retrieved. */
export function CaseVerdicts({ given: shown, results, metrics, picture, calls }) {
  const given = addClaims(shown, results);
  const { whole, ...items } = groupByItems(given, results, metrics);
  const walk = picture ?? (given.traversal && html`<${SentWalkPicture} given=${given} />`);
  return html`
    <div class="cards"><${WholeResults} results=${whole} metrics=${metrics} calls=${calls} methods=${namesOfPair(given)} /></div>
    <${JudgedItems} given=${given} items=${items} metrics=${metrics} picture=${walk} calls=${calls} />
    <${GoldAndUsage} given=${given} />`;
}

const JudgedItems = ({ given, items, metrics, picture, calls }) => html`
  <${ItemList} name="Claims" items=${given.claims} results=${items.claims} metrics=${metrics} calls=${calls}
    render=${(claim) => html`<${Claim} claim=${claim} />`} />
  <${ItemList} name="Claims of the expected answer" items=${given.expected_claims} results=${items.expected_claims} metrics=${metrics}
    calls=${calls} render=${(claim) => html`<${Claim} claim=${claim} />`} />
  <${ItemList} name="Chunks" items=${given.chunks} results=${items.chunks} metrics=${metrics} calls=${calls}
    render=${(chunk) => html`<${Chunk} chunk=${chunk} gold=${given.gold} />`} />
  <${ItemList} name="Triples" items=${given.triples} results=${items.triples} metrics=${metrics} calls=${calls}
    render=${(triple) => html`<${Triple} triple=${triple} />`} />
  <${ItemList} name="Chunks of B" items=${given.other_response?.chunks} results=${[]} metrics=${metrics}
    render=${(chunk) => html`<${Chunk} chunk=${chunk} gold=${given.gold} />`} />
  <${ItemList} name="Triples of B" items=${given.other_response?.triples} results=${[]} metrics=${metrics}
    render=${(triple) => html`<${Triple} triple=${triple} />`} />
  ${given.traversal && html`<section class="sheet"><h2>Walk</h2>${picture}<${WalkDetails} given=${given} /></section>`}`;

/** Return the case with the claims that a metric listed of it, unless they are recorded. */
function addClaims(given, results) {
  const listed = results.flatMap((result) => [...(result.built_on ?? []), result]);
  const found = Object.entries(CLAIM_LISTS).map(([field, [metric, letter]]) => {
    const claims = listed.find((result) => result.metric === metric)?.outcome.judgements?.[0]?.notes?.claims;
    return [field, given[field] ?? claims?.map(({ claim }, place) => ({ id: `${letter}${place + 1}`, text: claim }))];
  });
  return { ...given, ...Object.fromEntries(found.filter(([, claims]) => claims)) };
}

/** Return the results by what they are about; those about items of which the case has none are about the whole. */
function groupByItems(given, results, metrics) {
  const groups = { whole: [], ...Object.fromEntries(ITEMS.map((name) => [name, []])) };
  for (const result of results) {
    const over = metrics.get(result.metric)?.over ?? findItems(given, result);
    groups[over && given[over]?.length ? over : "whole"].push(result);
  }
  return groups;
}

/** Return what a result is over if its metric is no longer known: by the ids of its items. */
function findItems(given, { outcome }) {
  const id = [...(outcome.judgements ?? []), ...failuresOf(outcome)].find(({ item }) => item)?.item;
  if (id === undefined) return null;
  return ITEMS.find((name) => given[name]?.some((item) => item.id === id)) ?? null;
}

/** Results that need room first, failures before all; then a line for each that was computed or skipped. */
function WholeResults({ results, metrics, calls, methods }) {
  const isBrief = ({ outcome: { status }, tier }) => status === "skipped" || (tier === "computed" && status === "scored");
  const cards = results.filter((result) => !isBrief(result))
    .toSorted((a, b) => Number(b.outcome.status === "failed") - Number(a.outcome.status === "failed"));
  const rows = results.filter(isBrief);
  return html`
    ${cards.map((result) => html`
      <${ResultCard} result=${result} metric=${metrics.get(result.metric)} calls=${calls} methods=${methods} />`)}
    ${rows.length > 0 && html`
      <section class="sheet brief" aria-label="Computed and skipped">
        ${rows.map((result) => html`<${ResultRow} result=${result} metric=${metrics.get(result.metric)} />`)}
      </section>`}`;
}

const CaseTexts = ({ given }) => html`
  ${given.history?.length > 0 && html`<${CaseText} name="Before the question" content=${formatHistory(given.history)} />`}
  <${CaseText} name="Question" content=${given.question} />
  ${!given.other_response && html`<${CaseText} name="Answer" content=${given.answer} missing="No answer is recorded." />`}
  ${given.expected_answer && html`<${CaseText} name="Expected answer" content=${given.expected_answer} />`}
  ${given.gold?.answers?.length > 0 && html`<${CaseText} name="Also right" content=${given.gold.answers.join("\n")} />`}
  ${given.error && !given.other_response && html`<${CaseText} name="The method failed" content=${given.error} />`}
  ${given.aggregates?.length > 0 && html`<${CaseText} name="Computed texts given to the model" content=${given.aggregates.join("\n")} />`}`;

/** The answers of both responses of a pair, side by side, and what the second one has besides. */
function BothAnswers({ given }) {
  const names = namesOfPair(given);
  return html`
    <h2 class="unseen">Answers</h2>
    <div class="sides">${[given, given.other_response].map((response, place) => html`
      <section class="sheet" aria-label=${`Response ${"AB"[place]}`}>
        <div class="case-text">
          <h3>${"AB"[place]} <bdi class="mono">${names[place]}</bdi></h3>
          ${response.answer ? html`<${FoldedText} content=${response.answer} />` : html`<p class="soft">No answer is recorded.</p>`}
        </div>
        ${response.error && html`<${CaseText} name="The method failed" content=${response.error} />`}
      </section>`)}</div>`;
}

const CaseText = ({ name, content, missing = "–" }) => html`
  <div class="case-text">
    <h3>${name}</h3>
    ${content ? html`<${FoldedText} content=${content} />` : html`<p class="soft">${missing}</p>`}
  </div>`;

/** Claims, chunks or triples, each with its verdicts beside it; nothing if there are none. */
function ItemList({ name, items, results, metrics, render, calls }) {
  if (!items?.length) return null;
  const isWhole = ({ outcome }) => !outcome.judgements && !failuresOf(outcome).some(({ item }) => item);
  const single = results.length === 1;
  return html`
    <section class="sheet" aria-label=${name}>
      <header class="verdict-head"><h2>${name}</h2><span class="soft">${count(items.length)}</span></header>
      ${results.filter(isWhole).map((result) => html`<${ResultCard} result=${result} metric=${metrics.get(result.metric)} calls=${calls} />`)}
      <ol class="items">${items.map((item) => html`
        <li class="item">
          <div class="item-text">${render(item)}</div>
          <div class="stack-small">${results.map((result) => html`
            <${ItemVerdict} result=${result} id=${item.id} scale=${metrics.get(result.metric)?.scale} single=${single} />`)}</div>
        </li>`)}</ol>
      ${results.filter((result) => !isWhole(result)).map((result) => html`<${ResultUsage} result=${result} />${calls?.(result)}`)}
    </section>`;
}

function ItemVerdict({ result: { metric, outcome }, id, scale, single }) {
  const judgements = (outcome.judgements ?? []).filter(({ item }) => item === id);
  const failures = failuresOf(outcome).filter(({ item }) => item === id);
  const skipped = (outcome.skipped_items ?? []).filter(({ item }) => item === id);
  if (!judgements.length && !failures.length && !skipped.length) return null;
  return html`
    <div class="item-verdict">
      ${!single && html`<p class="small soft mono">${metric}</p>`}
      ${judgements.map((judgement) => html`<${JudgementDetails} judgement=${judgement} scale=${scale} />`)}
      ${failures.map((failure) => html`<${FailureDetails} failure=${failure} />`)}
      ${skipped.map(({ reason }) => html`<p class="small soft">Skipped: it ${reason}.</p>`)}
    </div>`;
}

const Claim = ({ claim: { id, text } }) => html`<p class="item-head small soft"><code>${id}</code></p><${FoldedText} content=${text} />`;

/** A chunk; the gold says which documents should have been found. */
const Chunk = ({ chunk: { id, doc_id: doc, repo, version, score, text }, gold }) => html`
  <p class="item-head small soft">
    <code>${id}</code>
    ${doc && doc !== id && html`<span>of <code>${doc}</code></span>`}
    <span>${[repo, version].filter(Boolean).join(" ")}</span>
    ${typeof score === "number" && html`<span>score ${figure(score)}</span>`}
    ${gold?.essential_docs?.includes(doc ?? id) && html`<${Badge} tone="good">essential<//>`}
    ${gold?.helpful_docs?.includes(doc ?? id) && html`<${Badge} tone="good">helpful<//>`}
  </p>
  ${typeof text === "string" ? html`<${FoldedText} content=${text} />` : html`<p class="soft">No text is recorded.</p>`}`;

const Triple = ({ triple: { id, subject, predicate, object } }) => html`
  <p class="item-head small soft"><code>${id}</code></p>
  <p class="triple">
    <${Text} class="node">${subject}<//><span class="edge-label"><bdi>${predicate}</bdi></span><${Text} class="node">${object}<//>
  </p>`;

/** What should have been found, what the method used, and the tags; nothing if none of it is known. */
function GoldAndUsage({ given: { gold, usage, tags, chunks = [] } }) {
  const docs = new Set(chunks?.map((chunk) => chunk.doc_id ?? chunk.id));
  const repos = new Set(chunks?.map((chunk) => chunk.repo));
  const facts = [
    ["Essential documents", listFound(gold?.essential_docs, docs)],
    ["Helpful documents", listFound(gold?.helpful_docs, docs)],
    ["Essential repositories", listFound(gold?.essential_repos, repos)],
    ["Spent by the method", usage && formatUsage(usage)],
    ["Tags", Object.entries(tags ?? {}).map(([name, value]) => html`<${Badge}>${`${name}: ${value}`}<//>`)],
  ].filter(([, content]) => content?.length);
  if (!facts.length) return null;
  return html`
    <section class="sheet">
      <h2>Gold and effort</h2>
      <dl class="facts">${facts.map(([name, content]) => html`<dt>${name}</dt><dd>${content}</dd>`)}</dl>
    </section>`;
}

const listFound = (names, found) => names?.map((name) => html`
  <${Badge} tone=${found.has(name) ? "good" : "bad"}><bdi>${name}</bdi>${found.has(name) ? " found" : " missed"}<//>`);

function formatUsage({ latency, waited, llm_calls: calls, prompt_tokens: read, output_tokens: wrote, cost }) {
  return [
    typeof latency === "number" && seconds(latency),
    waited > 0 && `waited ${seconds(waited)}`,
    typeof calls === "number" && counted(calls, "model call"),
    typeof read === "number" && `${count(read)} tokens in`,
    typeof wrote === "number" && `${count(wrote)} out`,
    typeof cost === "number" && dollars(cost),
  ].filter(Boolean).join(" · ");
}

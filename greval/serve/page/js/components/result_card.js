/** The result of a metric for a case: a card with verdict, skip or failure, or one line. */

import { count, counted, seconds } from "../format.js";
import { html } from "../html.js";
import { Badge, OutcomeBadge } from "./badge.js";
import { FailureDetails, failuresOf } from "./failure_details.js";
import { JudgementDetails } from "./judgement_details.js";
import { MetricLink } from "./table.js";
import { Text } from "./text.js";
import { ValueChip } from "./value_chip.js";

/**
 * A result about the case as a whole, or one without items. `calls` shows what its judge saw, and `methods` names the
 * responses of a pair.
 */
export const ResultCard = ({ result, metric, calls, methods }) => html`
  <article class=${`verdict ${result.outcome.status}`} aria-label=${result.metric}>
    <header class="verdict-head">
      <h3 class="mono"><${MetricLink} name=${result.metric} /></h3>
      ${result.repeat > 0 && html`<${Badge}>repeat ${result.repeat + 1}<//>`}
      ${result.outcome.status !== "scored" && html`<${OutcomeBadge} status=${result.outcome.status} />`}
    </header>
    ${result.outcome.status === "skipped" && html`<p class="soft"><${Text}>${result.outcome.reason}<//></p>`}
    ${result.outcome.judgements?.map((judgement) => html`<${JudgementDetails} judgement=${judgement} scale=${metric?.scale} methods=${methods} />`)}
    ${failuresOf(result.outcome).filter(({ item }) => !item).map((failure) => html`<${FailureDetails} failure=${failure} />`)}
    <${ResultUsage} result=${result} />
    ${calls?.(result)}
  </article>`;

/** A result in one line: computed, or skipped. */
export function ResultRow({ result: { metric: name, outcome }, metric }) {
  const [judgement] = outcome.judgements ?? [];
  return html`
    <article class="brief-row" aria-label=${name}>
      <h3 class="mono"><${MetricLink} name=${name} /></h3>
      ${judgement ? html`<${ValueChip} value=${judgement.value} scale=${metric?.scale} />` : html`<${OutcomeBadge} status="skipped" />`}
      <p class=${judgement ? "" : "soft"}><${Text}>${judgement ? judgement.reason : outcome.reason}<//></p>
    </article>`;
}

/** What a result cost: judge, calls, tokens, time. */
export const ResultUsage = ({ result }) => html`<p class="spent">${formatUsage(result)}</p>`;

function formatUsage({ usage, latency, tier, judge }) {
  if (tier === "computed") return "computed, no judge asked";
  return [
    judge,
    counted(usage.calls, "call"),
    usage.input_tokens !== null && `${count(usage.input_tokens)} tokens in`,
    usage.cached_tokens > 0 && `${count(usage.cached_tokens)} of them cached`,
    usage.output_tokens !== null && `${count(usage.output_tokens)} out`,
    usage.hits > 0 && counted(usage.hits, "reused answer"),
    seconds(latency),
  ].filter(Boolean).join(" · ");
}

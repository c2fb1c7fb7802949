/** A judgement: the value with its reason, and what else the judge returned. */

import { percent } from "../format.js";
import { html } from "../html.js";
import { winnerOf } from "../response_pair.js";
import { NotesList } from "./notes_list.js";
import { Text } from "./text.js";
import { ValueChip } from "./value_chip.js";

const MAX_NUMBERS = 20;

/**
 * A judgement: value, findings of the steps, reason, confidence, votes, notes, ids of what had numbers. `methods` are
 * the names of both responses of a pair.
 */
export const JudgementDetails = ({ judgement, scale, methods }) => html`
  <div class="judgement">
    <p class="judgement-head"><${ValueChip} ...${{ ...judgement, scale }} /><${Certainty} ...${judgement} /></p>
    ${judgement.findings?.length > 0 && html`
      <ol class="findings" aria-label="What each step found">
        ${judgement.findings.map((finding) => html`<li><${Text}>${finding}<//></li>`)}
      </ol>`}
    ${judgement.orders?.length > 0
      ? html`<${OrderList} orders=${judgement.orders} scale=${scale} methods=${methods ?? ["A", "B"]} />`
      : judgement.reason && html`<p><${Text}>${judgement.reason}<//></p>`}
    <${NotesList} notes=${judgement.notes} />
    <${ShownNumbers} shown=${judgement.shown_ids} />
  </div>`;

/** The verdict of each order of a pair, which method it prefers, and whether the winner changed with the order. */
const OrderList = ({ orders, scale, methods }) => html`
  <p class="small">${new Set(orders.map(({ value }) => winnerOf(value))).size > 1
    ? html`<strong>Flipped:</strong> the two orders name different winners, which counts as a tie.`
    : "Both orders agree."}</p>
  <ul class="bare orders">${orders.map(({ shown_first: first, value, reason }) => {
    const shown = first === "A" ? methods : methods.toReversed();
    return html`
      <li class="order">
        <p class="judgement-head">
          <${ValueChip} value=${value} scale=${scale} />
          <span>${winnerOf(value) === null ? "tie" : html`prefers <bdi>${methods[winnerOf(value)]}</bdi>`}</span>
          <span class="soft small">the judge saw A: <bdi>${shown[0]}</bdi>, B: <bdi>${shown[1]}</bdi></span>
        </p>
        <p><${Text}>${reason}<//></p>
      </li>`;
  })}</ul>`;

const Certainty = ({ confidence, votes, flip_rate: flips }) => html`
  ${typeof confidence === "number" && html`
    <span class="soft small" title="The probability that the judge gave to this value">confidence ${percent(confidence)}</span>`}
  ${votes && html`<span class="soft small" title="What the repeats gave">votes: ${formatVotes(votes)}</span>`}
  ${flips > 0 && html`<span class="soft small">${percent(flips)} differ</span>`}`;

const formatVotes = (votes) => Object.entries(votes).map(([value, many]) => `${value} ${many}`).join(", ");

/** The ids of the items that the judge was shown by number; nothing if none had one. */
function ShownNumbers({ shown }) {
  const named = Object.entries(shown ?? {}).flatMap(([kind, ids]) => ids.map((id, place) => `${kind} ${place + 1} is ${id}`));
  if (!named.length) return null;
  const rest = named.length > MAX_NUMBERS ? ` and ${named.length - MAX_NUMBERS} more` : "";
  return html`<p class="soft small"><${Text}>As the judge saw them: ${named.slice(0, MAX_NUMBERS).join(", ")}${rest}<//></p>`;
}

/** A cell of the grid: a verdict with its colour, a skip, a failure, or nothing; never a colour without words. */

import { html } from "../html.js";

const CHANGES = { won: ["▲", "better"], lost: ["▼", "worse"], changed: ["≠", "different"] };

/** The result of a metric for a row; `change` says how it differs from what it is compared with. */
export const GridCell = ({ cell: { status, text, tone, note }, change = "" }) => html`
  <span class="grid-cell" title=${note || null}>
    ${status === "scored" && html`<span class=${`value tone-${tone ?? "none"}`}><span class="value-word" dir="auto">${text}</span></span>`}
    ${status === "failed" && html`<span class="badge bad">failed: ${text}</span>`}
    ${status === "skipped" && html`<span class="badge plain">skipped</span>`}
    ${status === "none" && (text
      ? html`<span class="soft small">${text}</span>`
      : html`<span class="soft"><span aria-hidden="true">–</span><span class="unseen">no result</span></span>`)}
    ${status === "scored" && note && html`<span class="bad-text small">${note}</span>`}
    ${change && html`<${ChangeMark} change=${change} />`}
  </span>`;

/** How a result differs from what it is compared with. */
export const ChangeMark = ({ change }) => html`
  <span class=${`change ${change}`}><span aria-hidden="true">${CHANGES[change][0]}</span> ${CHANGES[change][1]}</span>`;

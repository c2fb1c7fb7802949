/** The value of a judgement. */

import { html } from "../html.js";
import { formatValue, meaning, toneClass } from "../scale.js";

/** A value with its colour, and the number that it counts as if that differs. */
export function ValueChip({ value, scale, number = null }) {
  const differs = number !== null && String(number) !== String(value) && typeof value !== "number";
  return html`
    <span class=${`value ${toneClass(scale, value)}`} title=${meaning(scale, value)}>
      <span class="value-word" dir="auto">${formatValue(scale, value)}</span>
      ${differs && html`<span class="value-number" title="counts as">${formatValue(null, number)}</span>`}
    </span>`;
}

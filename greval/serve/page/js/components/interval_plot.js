/** A number with its interval on an axis that several rows share. */

import { figure as formatNumber } from "../format.js";
import { html } from "../html.js";

const [WIDTH, HEIGHT, PAD] = [240, 22, 6];

/** Return the lowest and highest number of an axis that holds some figures, each {value, low, high}. */
export function findSpan(figures) {
  const numbers = figures.flatMap(({ value, low, high }) => [value, low, high]).filter((number) => typeof number === "number");
  if (!numbers.length) return [0, 1];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

const createScale = ([from, to]) => (number) =>
  PAD + (WIDTH - 2 * PAD) * Math.min(1, Math.max(0, (number - from) / (to - from || 1)));

/** A line for the interval and a point for the number, with a mark at `zero`; `label` tells both. */
export function IntervalPlot({ value, low, high, span, zero = null, tone = "", label }) {
  const x = createScale(span);
  const y = HEIGHT / 2;
  return html`
    <svg class=${`interval ${tone}`} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${label}>
      <line class="axis" x1=${PAD} x2=${WIDTH - PAD} y1=${y} y2=${y} />
      ${zero !== null && html`<line class="zero" x1=${x(zero)} x2=${x(zero)} y1="1" y2=${HEIGHT - 1} />`}
      ${typeof low === "number" && html`
        <line class="range" x1=${x(low)} x2=${x(high)} y1=${y} y2=${y} />
        ${[low, high].map((end) => html`<line class="range" x1=${x(end)} x2=${x(end)} y1=${y - 4} y2=${y + 4} />`)}`}
      ${typeof value === "number" && html`<circle class="point" cx=${x(value)} cy=${y} r="4.5" />`}
    </svg>`;
}

/** The axis of several plots, with the numbers at its ends and at zero. */
export function IntervalAxis({ span: [from, to], unit = "" }) {
  const x = createScale([from, to]);
  const ticks = [[from, "start"], [0, "middle"], [to, "end"]];
  return html`
    <svg class="interval-axis" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img"
      aria-label=${`Axis from ${formatNumber(from)} to ${formatNumber(to)} ${unit}`.trim()}>
      <line class="axis" x1=${PAD} x2=${WIDTH - PAD} y1="4" y2="4" />
      ${ticks.map(([number, anchor]) => html`
        <line class="axis" x1=${x(number)} x2=${x(number)} y1="1" y2="7" />
        <text x=${anchor === "middle" ? x(number) : number === from ? 0 : WIDTH} y="19" text-anchor=${anchor}>
          ${`${formatNumber(number)} ${anchor === "end" ? unit : ""}`.trim().replace("-", "−")}
        </text>`)}
    </svg>`;
}

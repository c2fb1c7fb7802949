/** How values are distributed: one bar of all values, or columns of many different numbers. */

import { count, figure, percent } from "../format.js";
import { html } from "../html.js";
import { kindOf, toneClass, valuesOf } from "../scale.js";

const MAX_VALUES = 12;
const COLUMNS = 12;
const [WIDTH, HEIGHT] = [240, 44];

/** Return the values of a distribution in the order of the scale, each [value, its count]. */
function orderValues(distribution, scale, listed) {
  const given = Object.keys(distribution);
  const rising = () => given.toSorted((a, b) => Number(a) - Number(b));
  const names = valuesOf(scale) ?? (listed?.length ? listed : rising());
  return [...names, ...given.filter((value) => !names.includes(value))].map((value) => [value, distribution[value] ?? 0]);
}

/**
 * The distribution of the values of a summary.
 * @param {Object} scale of the metric, null if it is not known
 * @param {Array} listed the values of the scale as the report lists them
 * @param {Function} href gives the address of the results that have a value
 */
export function DistributionPlot({ summary: { distribution, median, p95 }, scale, listed, href }) {
  if (typeof p95 === "number") {
    return html`<p class="small soft">half at most ${figure(median)}, 95 % at most ${figure(p95)}</p>`;
  }
  const values = orderValues(distribution, scale, listed);
  const total = values.reduce((sum, [, many]) => sum + many, 0);
  if (!total) return null;
  if (values.length > MAX_VALUES || kindOf(scale) === "measure") return html`<${Histogram} values=${values} scale=${scale} />`;
  return html`<${ValueBar} values=${values} total=${total} scale=${scale} href=${href} />`;
}

const ValueBar = ({ values, total, scale, href }) => html`
  <ul class="distribution">${values.filter(([, many]) => many).map(([value, many]) => {
    const label = `${value}: ${count(many)} of ${count(total)}, ${percent(many / total)}`;
    return html`
      <li class=${toneClass(scale, value)} style=${{ width: `${(100 * many) / total}%` }}>
        <a href=${href(value)} title=${label} aria-label=${label}>${many / total > 0.08 && count(many)}</a>
      </li>`;
  })}</ul>`;

/** What the colours stand for, with the counts of all groups. */
export function DistributionLegend({ summaries, scale, listed }) {
  const values = valuesOf(scale) ?? (listed?.length ? listed : null);
  if (!values || values.length > MAX_VALUES) return null;
  const countOf = (value) => summaries.reduce((sum, { distribution }) => sum + (distribution[value] ?? 0), 0);
  return html`
    <ul class="legend">${values.map((value) => html`
      <li><span class=${`swatch ${toneClass(scale, value)}`} /><bdi>${value}</bdi><span class="soft">${count(countOf(value))}</span></li>`)}</ul>`;
}

function Histogram({ values, scale }) {
  const [low, high] = typeof scale?.high === "number"
    ? [scale.low, scale.high]
    : [Number(values[0][0]), Number(values.at(-1)[0])];
  const end = (place) => low + (place / COLUMNS) * (high - low);
  const bins = countBins(values, low, high);
  const most = Math.max(...bins);
  return html`
    <figure class="columns">
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Distribution from ${figure(low)} to ${figure(high)}`}>
        ${bins.map((many, place) => html`
          <${Column} place=${place} share=${many / most} tone=${toneClass(scale, end(place + 0.5))}
            label=${many ? `${figure(end(place))} to ${figure(end(place + 1))}: ${count(many)}` : null} />`)}
      </svg>
      <figcaption class="small soft"><span>${figure(low)}</span><span>${figure(high)}</span></figcaption>
    </figure>`;
}

/** Count numbers in bins of equal width. */
function countBins(values, low, high) {
  const bins = Array.from({ length: COLUMNS }, () => 0);
  for (const [value, many] of values) {
    const place = Math.floor(((Number(value) - low) / (high - low || 1)) * COLUMNS);
    bins[Math.min(COLUMNS - 1, place)] += many;
  }
  return bins;
}

function Column({ place, share, tone, label }) {
  const step = WIDTH / COLUMNS;
  const height = label ? Math.max(2, share * HEIGHT) : 0;
  return html`
    <rect class=${tone} x=${place * step + 1} y=${HEIGHT - height} width=${step - 2} height=${height} rx="1">
      ${label && html`<title>${label}</title>`}
    </rect>`;
}

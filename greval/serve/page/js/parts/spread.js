/** How values are spread: one bar of all values, or columns of many different numbers. */

import { data, h } from "../dom.js";
import { count, figure, percent } from "../format.js";
import { kindOf, toneClass, valuesOf } from "./scale.js";

const MOST_VALUES = 12;
const COLUMNS = 12;
const [WIDTH, HEIGHT] = [240, 44];

/** Give the values of a distribution in the order of the scale, [value, how often]. */
function ordered(distribution, scale, listed) {
  const given = Object.keys(distribution);
  const rising = () => given.toSorted((a, b) => Number(a) - Number(b));
  const names = valuesOf(scale) ?? (listed?.length ? listed : rising());
  return [...names, ...given.filter((value) => !names.includes(value))].map((value) => [value, distribution[value] ?? 0]);
}

/**
 * Give the picture of a distribution; null where there is none.
 * @param {Object} summary of one metric and group
 * @param {Object} scale of the metric, null where it is not known
 * @param {Array} listed the values of the scale as the report lists them
 * @param {Function} href gives the address of the results that have a value
 */
export function spread({ distribution, median, p95 }, scale, listed, href) {
  if (typeof p95 === "number") {
    return h("p", { class: "small soft" }, `half at most ${figure(median)}, 95 % at most ${figure(p95)}`);
  }
  const values = ordered(distribution, scale, listed);
  const whole = values.reduce((sum, [, many]) => sum + many, 0);
  if (!whole) return null;
  if (values.length > MOST_VALUES || kindOf(scale) === "measure") return columns(values, scale);
  return bar(values, whole, scale, href);
}

function bar(values, whole, scale, href) {
  return h("ul", { class: "spread" }, values.filter(([, many]) => many).map(([value, many]) => {
    const told = `${value}: ${count(many)} of ${count(whole)}, ${percent(many / whole)}`;
    return h("li", { class: toneClass(scale, value), size: many / whole },
      h("a", { href: href(value), title: told, "aria-label": told }, many / whole > 0.08 ? count(many) : ""));
  }));
}

/** Give what the colours stand for, with counts where there is only one group. */
export function legend(summaries, scale, listed) {
  const values = valuesOf(scale) ?? (listed?.length ? listed : null);
  if (!values || values.length > MOST_VALUES) return null;
  const many = (value) => summaries.reduce((sum, { distribution }) => sum + (distribution[value] ?? 0), 0);
  return h("ul", { class: "legend" }, values.map((value) =>
    h("li", null,
      h("span", { class: `swatch ${toneClass(scale, value)}` }), data(value),
      h("span", { class: "soft" }, count(many(value))))));
}

function columns(values, scale) {
  const [low, high] = typeof scale?.high === "number"
    ? [scale.low, scale.high]
    : [Number(values[0][0]), Number(values.at(-1)[0])];
  const end = (place) => low + (place / COLUMNS) * (high - low);
  const bins = binned(values, low, high);
  const most = Math.max(...bins);
  return h("figure", { class: "columns" },
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Distribution from ${figure(low)} to ${figure(high)}` },
      bins.map((many, place) => {
        const said = `${figure(end(place))} to ${figure(end(place + 1))}: ${count(many)}`;
        return column(place, many / most, toneClass(scale, end(place + 0.5)), many ? said : null);
      })),
    h("figcaption", { class: "small soft" }, h("span", null, figure(low)), h("span", null, figure(high))));
}

/** Count numbers in columns of equal width. */
function binned(values, low, high) {
  const bins = Array.from({ length: COLUMNS }, () => 0);
  for (const [value, many] of values) {
    const place = Math.floor(((Number(value) - low) / (high - low || 1)) * COLUMNS);
    bins[Math.min(COLUMNS - 1, place)] += many;
  }
  return bins;
}

function column(place, share, tone, said) {
  const step = WIDTH / COLUMNS;
  const height = said ? Math.max(2, share * HEIGHT) : 0;
  return h("rect", { class: tone, x: place * step + 1, y: HEIGHT - height, width: step - 2, height, rx: 1 },
    said ? h("title", null, said) : null);
}

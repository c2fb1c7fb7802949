/** Scales: in which order values come, how good one is, and how it is formatted. */

import { figure } from "./format.js";

const STEPS = 4;
const MOST_LISTED = 20;
/** Return a number without the last digits, which multiples of a step may have wrong: 0.1 three times is 0.3. */
const rounded = (number) => Number(number.toPrecision(12));

/** Return the kind of a scale: "categories", "range" or "measure". */
export function kindOf(scale) {
  if (!scale) return null;
  return scale.categories ? "categories" : scale.range ? "range" : "measure";
}

/** Return the values of a scale in their order, best first for categories; null where there are too many to list. */
export function valuesOf(scale) {
  if (scale?.categories) return Object.keys(scale.categories);
  if (!scale?.range) return null;
  const [low, high] = scale.range;
  const step = scale.step ?? 1;
  const last = Math.round((high - low) / step);
  return last <= (scale.step ? MOST_LISTED : 10) ? Array.from({ length: last + 1 }, (_, place) => String(rounded(low + place * step))) : null;
}

/** Return how good a value is, 0 (worst) to 4 (best), or null where the scale does not say. */
export function toneOf(scale, value) {
  const share = shareOf(scale, value);
  return share === null || Number.isNaN(share) ? null : Math.round(STEPS * Math.min(1, Math.max(0, share)));
}

/** Return the class of a value's colour. */
export function toneClass(scale, value) {
  const tone = toneOf(scale, value);
  return tone === null ? "tone-none" : `tone-${tone}`;
}

function shareOf(scale, value) {
  switch (kindOf(scale)) {
    case "categories":
      return shareOfCategory(scale, String(value));
    case "range":
      return turned(scale, (Number(value) - scale.range[0]) / (scale.range[1] - scale.range[0]));
    case "measure":
      return scale.high === null || scale.high === undefined
        ? null
        : turned(scale, (Number(value) - scale.low) / (scale.high - scale.low));
    default:
      return null;
  }
}

function shareOfCategory(scale, value) {
  const scores = Object.values(scale.categories).map((category) => category.score);
  const known = scores.filter((score) => typeof score === "number");
  const own = scale.categories[value]?.score;
  if (typeof own === "number" && Math.max(...known) > Math.min(...known)) {
    return (own - Math.min(...known)) / (Math.max(...known) - Math.min(...known));
  }
  const place = Object.keys(scale.categories).indexOf(value);
  return scale.ordered === false || place < 0 ? null : 1 - place / (scores.length - 1);
}

const turned = (scale, share) => (scale.better === "lower" ? 1 - share : share);

/** Format a value of a scale with its unit. */
export function formatValue(scale, value) {
  if (typeof value !== "number") return String(value);
  return [figure(value), scale?.unit].filter(Boolean).join(" ");
}

/** Return the lowest and highest number that values count as; null if the scale has no such ends. */
export function endsOf(scale) {
  if (scale?.range) return scale.range;
  if (!scale?.categories) return typeof scale?.high === "number" ? [scale.low, scale.high] : null;
  const scores = Object.values(scale.categories).map(({ score }) => score).filter((score) => typeof score === "number");
  return scores.length > 1 ? [Math.min(...scores), Math.max(...scores)] : null;
}

/** Return what a value means, where the scale describes it. */
export const meaning = (scale, value) => scale?.categories?.[value]?.means ?? scale?.levels?.[value] ?? null;

/** Describe a scale in one short line. */
export function describeScale(scale) {
  switch (kindOf(scale)) {
    case "categories":
      return `${Object.keys(scale.categories).length} categories${scale.ordered === false ? "" : ", best first"}`;
    case "range":
      return `${scale.range[0]} to ${scale.range[1]}${scale.step ? ` by ${scale.step}` : ""}, ${scale.better ?? "higher"} is better`;
    case "measure":
      return describeMeasure(scale);
    default:
      return "";
  }
}

function describeMeasure(scale) {
  const upper = scale.high === null || scale.high === undefined ? "upwards" : `to ${figure(scale.high)}`;
  return [`${figure(scale.low)} ${upper}`, scale.unit ? ` ${scale.unit}` : "", `, ${scale.better} is better`].join("");
}

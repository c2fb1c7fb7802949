/** Choosing metrics: a list to search and tick. */

import { useState } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";
import { MetricBadges } from "./badge.js";
import { SearchField } from "./fields.js";

/** Returns whether every word is in the metric's name or description. */
export function matchesMetric(metric, words) {
  const content = `${metric.name} ${metric.name.replaceAll("_", " ")} ${metric.description}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => content.includes(word));
}

const ORIGINS = ["own", "library", "predefined"];

/**
 * Returns the metrics that match: those first that fit the data, then those whose name begins with the words, then one's
 * own before those of the server and the predefined ones.
 */
function findMetrics(metrics, words, fitting) {
  const rank = ({ name, origin }) =>
    [fitting && !fitting.has(name), Boolean(words) && !name.startsWith(words.toLowerCase()), ORIGINS.indexOf(origin)].map(Number);
  const compare = ([first, second, third], [otherFirst, otherSecond, otherThird]) =>
    first - otherFirst || second - otherSecond || third - otherThird;
  return metrics.filter((metric) => matchesMetric(metric, words)).map((metric) => [rank(metric), metric])
    .toSorted(([own], [other]) => compare(own, other)).map(([, metric]) => metric);
}

/**
 * The metrics of the library with checkboxes; `chosen` and `onChange` have their names in the order of choice. `fitting`
 * are the names of those that fit the data, if that is known.
 */
export function MetricPicker({ metrics, chosen, onChange, fitting = null }) {
  const [words, setWords] = useState("");
  const found = findMetrics([...metrics.values()], words, fitting);
  const firstIdle = fitting && found.find(({ name }) => !fitting.has(name));
  const toggle = (name) => onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return html`
    <fieldset class="picker">
      <legend>Metrics</legend>
      <div class="chosen">
        ${chosen.length
          ? chosen.map((name) => html`<${Chip} key=${name} name=${name} onRemove=${() => toggle(name)} />`)
          : html`<span class="soft">No metric chosen yet.</span>`}
      </div>
      <${SearchField} label="Search metrics" value=${words} onInput=${setWords} />
      <div class="picker-list">
        ${found.map((metric) => html`
          ${metric === firstIdle && html`<p class="picker-part small soft" key="idle">No case has what these need:</p>`}
          <${PickerRow} key=${metric.name} metric=${metric} checked=${chosen.includes(metric.name)} onChange=${() => toggle(metric.name)} />`)}
        ${!found.length && html`<p class="soft picker-none">No metric matches.</p>`}
      </div>
    </fieldset>`;
}

const Chip = ({ name, onRemove }) => html`
  <button type="button" class="chip" aria-label=${`Remove ${name}`} onClick=${onRemove}>
    <span class="mono">${name}</span><span aria-hidden="true">×</span>
  </button>`;

const PickerRow = ({ metric, checked, onChange }) => html`
  <label class="picker-row" title=${metric.description}>
    <input type="checkbox" value=${metric.name} checked=${checked} onChange=${onChange} />
    <span class="mono" dir="auto">${metric.name}</span>
    <span class="picker-badges"><${MetricBadges} metric=${metric} /></span>
  </label>`;

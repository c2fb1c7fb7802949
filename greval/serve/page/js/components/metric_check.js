/** What the check of a metric found: faults, and remarks on what makes judging unreliable, each with its line. */

import { counted } from "../format.js";
import { html } from "../html.js";
import { splitLine } from "../metric_document.js";
import { Text } from "./text.js";

/** The outcome of a check; `onLine` goes to a line of the file, which the form does not show. */
export function MetricCheck({ check, error, pending, inForm, onLine }) {
  return html`
    <section class="check-panel" aria-label="Check" aria-busy=${pending ? "true" : null}>
      <p role="status" class=${check && !check.ok ? "bad-text" : "soft"}>${error ? error.detail : describeCheck(check)}</p>
      ${check && html`
        <ul class="faults">
          ${check.faults.map(({ place, message }) => html`<${Finding} tone="bad" message=${place ? `${place}: ${message}` : message} inForm=${inForm} onLine=${onLine} />`)}
          ${check.warnings.map((message) => html`<${Finding} tone="warn" message=${message} inForm=${inForm} onLine=${onLine} />`)}
        </ul>`}
    </section>`;
}

function Finding({ tone, message, inForm, onLine }) {
  const { line, text } = splitLine(message);
  const goTo = line && html` <button type="button" class="quiet line" onClick=${() => onLine(line)}>Line ${line}${inForm ? " of the file" : ""}</button> `;
  return html`
    <li class=${`${tone}-text`}>
      ${!inForm && goTo}
      <${Text}>${text}<//>
      ${inForm && goTo}
    </li>`;
}

function describeCheck(check) {
  if (!check) return "Not checked yet.";
  if (!check.ok) return `${counted(check.fault_count, "fault")} to mend before it can be saved.`;
  return check.warnings.length ? `Valid, with ${counted(check.warnings.length, "remark")}.` : "Valid.";
}

/** Return the tone of each line that has a fault or a remark, by its number. */
export function toneLines(check) {
  const tones = new Map();
  for (const message of check?.warnings ?? []) tones.set(splitLine(message).line, "warn");
  for (const { place, message } of check?.faults ?? []) tones.set(splitLine(`${place}: ${message}`).line, "bad");
  return tones;
}

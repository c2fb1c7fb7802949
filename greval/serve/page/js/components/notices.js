/** Errors as the server describes them, notices, and what stands in an empty place. */

import { html } from "../html.js";
import { Text } from "./text.js";

/** An error; with `retry` there is a button that tries again. Its id is shown if only the operator can find the reason. */
export function Problem({ error, retry }) {
  const faults = (error.faults ?? []).map(formatFault);
  const more = faults.length > 1 || (faults.length === 1 && faults[0] !== error.detail);
  return html`
    <div class="notice bad" role="alert">
      <p class="notice-title">${error.title ?? "The page failed"}</p>
      <p><${Text}>${error.detail ?? `${error.name}: ${error.message}`}<//></p>
      ${more && html`<ul class="faults">${faults.map((fault) => html`<li><${Text}>${fault}<//></li>`)}</ul>`}
      ${error.code === "internal_error" && error.requestId && html`<p class="small soft">Request <code>${error.requestId}</code></p>`}
      ${retry && html`<p><button type="button" onClick=${retry}>Try again</button></p>`}
    </div>`;
}

const formatFault = ({ place, message }) => (place ? `${place}: ${message}` : message);

/** A notice; `tone` is plain, warn or bad. */
export const Notice = ({ tone = "plain", children }) => html`<div class=${`notice ${tone}`}>${children}</div>`;

/** What stands where there is nothing yet: a title, and what to do next. */
export const EmptyState = ({ title, busy = false, children }) => html`
  <div class=${busy ? "empty busy" : "empty"}>
    <p class="empty-title">${title}</p>
    ${children && html`<p>${children}</p>`}
  </div>`;

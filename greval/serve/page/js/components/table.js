/** Parts of tables. */

import { html } from "../html.js";
import { at } from "../router.js";

/** The head of a table; a column is its label, or [label, class]. */
export const TableHead = ({ columns }) => html`
  <thead><tr>${columns.map((column) => {
    const [label, extra] = [column].flat();
    return html`<th scope="col" class=${extra}>${label}</th>`;
  })}</tr></thead>`;

/** The cell that links to a case. */
export const CaseCell = ({ run, id, method }) => html`
  <td class="case-cell">
    <a class="mono" href=${at(["runs", run, "case"], { sample_id: id, method })} dir="auto">${id || "(no id)"}</a>
    ${method && html`<div class="soft small" dir="auto">${method}</div>`}
  </td>`;

/** The name of a metric as a link to the library. */
export const MetricLink = ({ name }) => html`<a class="plain-link" href=${at(["library", name])} dir="auto">${name}</a>`;

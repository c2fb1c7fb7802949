/** Parts of tables. */

import { html } from "../html.js";
import { at } from "../router.js";

/** The head of a table; a column is its label, or [label, class]. */
export const TableHead = ({ columns }) => html`
  <thead><tr>${columns.map((column) => {
    const [label, extra] = [column].flat();
    return html`<th scope="col" class=${extra}>${label}</th>`;
  })}</tr></thead>`;

/** The name of a metric as a link to the library. */
export const MetricLink = ({ name }) => html`<a class="plain-link" href=${at(["library", name])} dir="auto">${name}</a>`;

/** The case that is open beside the table, with the ways to the case before, the next one, and back to the table. */

import { useLayoutEffect, useRef } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { NO_RESULT } from "../case_grid.js";
import { html } from "../html.js";
import { CaseBody } from "../views/case.js";
import { CaseComparison } from "./case_comparison.js";
import { SegmentedControl } from "./fields.js";
import { EmptyState } from "./notices.js";

const NARROW = matchMedia("(max-width: 79.99rem)"); // as in grid.css

/**
 * The case.
 * @param {Object} grid of the run
 * @param {Array} columns that are shown
 * @param {Array} sides {run, method, label}: one, or two that are compared
 * @param {string} sample the id of the case
 * @param {string} method the method whose answer is shown, null for the first
 * @param {Array} rows the numbers of the rows of the table, in their order
 * @param {string} back the address of the table
 * @param {Function} onChange called with what changes of the address
 */
export function CasePane({ grid, columns, sides, sample, method, rows, back, onChange }) {
  const row = grid.sample_ids.indexOf(sample);
  const methods = grid.methods.filter((one) => grid.columns.some((column) => column.method === one && column.cells[row] !== NO_RESULT));
  const shown = methods.includes(method) ? method : methods[0];
  const place = rows.indexOf(row);
  const open = (at) => grid.sample_ids[rows[at]];
  const heading = useRef(null);
  useLayoutEffect(() => {
    announce(`Case ${sample}`);
    if (NARROW.matches) heading.current.focus();
  }, [sample]);
  return html`
    <section class="pane" aria-label="Case">
      <header class="pane-head">
        <h2 class="mono" dir="auto" tabindex="-1" ref=${heading}>${sample || "(no id)"}</h2>
        <button type="button" disabled=${place <= 0} onClick=${() => onChange({ case: open(place - 1) })}>Previous</button>
        <button type="button" disabled=${place < 0 || place >= rows.length - 1} onClick=${() => onChange({ case: open(place + 1) })}>Next</button>
        <a class="button" href=${back}>Close</a>
      </header>
      ${row < 0 && html`<${EmptyState} title="The run has no case of this id." />`}
      ${row >= 0 && sides.length === 1 && html`
        ${methods.length > 1 && html`
          <${SegmentedControl} label="Answer of" options=${methods.map((one) => [one, one || "(none)"])} value=${shown} onChange=${(answer) => onChange({ answer })} />`}
        <${CaseBody} run=${sides[0].run} id=${sample} method=${shown ?? ""} />`}
      ${row >= 0 && sides.length === 2 && html`<${CaseComparison} grid=${grid} row=${row} columns=${columns} sides=${sides} />`}
    </section>`;
}

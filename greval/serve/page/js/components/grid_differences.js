/** What two runs that stand side by side do not share: questions, and the definitions of metrics. */

import { listDifferences } from "../case_grid.js";
import { count, counted } from "../format.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { Notice } from "./notices.js";

const MAX_LINKS = 5;

/**
 * What differs, or nothing.
 * @param {Object} grid of the run
 * @param {Object} other {run, grid, label} of the other run
 */
export function GridDifferences({ grid, other }) {
  const { own, other: others, metrics } = listDifferences(grid, other.grid);
  if (!own.length && !others.length && !metrics.length) return null;
  return html`
    <${Notice} tone="warn">
      ${metrics.length > 0 && html`
        <p>The two runs judged by different definitions of ${metrics.join(", ")}: a difference may be that of the definitions.</p>`}
      ${own.length > 0 && html`<p>${counted(own.length, "question")} of this run ${own.length === 1 ? "is" : "are"} not in <bdi>${other.label}</bdi>.</p>`}
      ${others.length > 0 && html`
        <p>${counted(others.length, "question")} of <bdi>${other.label}</bdi> ${others.length === 1 ? "is" : "are"} not in this run and not listed here:${" "}
          ${others.slice(0, MAX_LINKS).map((id, place) => html`
            ${place > 0 && ", "}<a href=${at(["runs", other.run], { tab: "cases", case: id })} dir="auto">${id || "(no id)"}</a>`)}
          ${others.length > MAX_LINKS && ` and ${count(others.length - MAX_LINKS)} more`}
        </p>`}
    <//>`;
}

/** The answers of two methods, or of two runs, to one question, side by side with what differs. */

import { get, name as part } from "../api.js";
import { compareCells, pairColumns, readCell } from "../case_grid.js";
import { formatHistory } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { FoldedText } from "./folded_text.js";
import { GridCell } from "./grid_cell.js";
import { Problem } from "./notices.js";

/**
 * Both answers, and the verdicts on both.
 * @param {Object} grid of the first side's run, with `row` of the question
 * @param {Array} columns of both sides
 * @param {Array} sides {run, method, label}
 */
export function CaseComparison({ grid, row, columns, sides }) {
  const sample = grid.sample_ids[row];
  const inputs = [sample, ...sides.flatMap(({ run, method }) => [run, method])];
  const { data, error, reload } = useRequest((signal) => Promise.all(sides.map((side) => loadSide(side, sample, signal))), inputs);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return null;
  const [{ given }, other] = data;
  const about = given ?? other.given;
  return html`
    <section class="sheet" aria-label="Question">
      ${about?.history?.length > 0 && html`<div class="case-text"><h3>Before the question</h3><${FoldedText} content=${formatHistory(about.history)} /></div>`}
      <div class="case-text"><h3>Question</h3><${FoldedText} content=${about?.question ?? grid.questions[row]} /></div>
      ${about?.expected_answer && html`<div class="case-text"><h3>Expected answer</h3><${FoldedText} content=${about.expected_answer} /></div>`}
    </section>
    <div class="sides">${sides.map((side, place) => html`<${Answer} side=${side} sample=${sample} given=${data[place].given} />`)}</div>
    <section class="sheet" aria-label="Verdicts">
      <h3>Verdicts</h3>
      <div class="scroll" tabindex="0" role="region" aria-label="Verdicts side by side"><table class="verdict-pairs">
        <thead><tr><th scope="col">Metric</th>${sides.map(({ label }) => html`<th scope="col" dir="auto">${label}</th>`)}</tr></thead>
        <tbody>${pairColumns(columns).map((pair) => html`<${VerdictPair} pair=${pair} row=${row} data=${data} />`)}</tbody>
      </table></div>
    </section>`;
}

/** Return the case of a side with its results; nothing if the side does not have it. */
async function loadSide({ run, method }, sample, signal) {
  try {
    const { case: given, results } = await get(`/v1/runs/${part(run)}/case`, { sample_id: sample, method }, signal);
    return { given, results };
  } catch (error) {
    if (error.code !== "case_not_found") throw error;
    return { given: null, results: [] };
  }
}

const Answer = ({ side: { run, method, label }, sample, given }) => html`
  <section class="sheet" aria-label=${`Answer of ${label}`}>
    <div class="case-text">
      <h3 dir="auto">${label}</h3>
      ${given?.answer
        ? html`<${FoldedText} content=${given.answer} />`
        : html`<p class="soft">${given ? "No answer is recorded." : "It does not have this case."}</p>`}
    </div>
    ${given && html`<p class="small"><a href=${at(["runs", run, "case"], { sample_id: sample, method })}>Whole case, with what was retrieved</a></p>`}
  </section>`;

function VerdictPair({ pair, row, data }) {
  const cells = pair.map((column) => readCell(column, row));
  const change = compareCells(...cells);
  return html`
    <tr class=${change ? "differs" : ""}>
      <th scope="row" class="mono" dir="auto">${pair[0].metric}</th>
      ${pair.map(({ metric }, place) => html`
        <td>
          <${GridCell} cell=${cells[place]} change=${place === 0 ? change : ""} />
          ${listReasons(data[place].results, metric).map((reason) => html`<${FoldedText} content=${reason} />`)}
        </td>`)}
    </tr>`;
}

/** Return the reasons of a metric: of a verdict on the whole case, a skip, or a failure. */
const listReasons = (results, metric) => results.filter((result) => result.metric === metric).flatMap(({ outcome }) => {
  if (outcome.status === "skipped") return [outcome.reason];
  if (outcome.status === "failed") return [outcome.error.message];
  return outcome.judgements.filter(({ item, reason }) => !item && reason).map(({ reason }) => reason);
});


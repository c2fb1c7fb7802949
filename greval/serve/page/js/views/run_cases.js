/** The cases of a run, each with the status of its judgements. */

import { get, name as part } from "../api.js";
import { EmptyState, Problem } from "../components/notices.js";
import { CaseCell, TableHead } from "../components/table.js";
import { Text } from "../components/text.js";
import { usePages } from "../hooks.js";
import { html } from "../html.js";

const PAGE = 50;
const MARKS = { scored: "✓", skipped: "–", failed: "✕" };

/** The cases, a page at a time. */
export function RunCases({ run }) {
  const load = async (cursor, signal) => {
    const found = await get(`/v1/runs/${part(run.id)}/cases`, { cursor, limit: PAGE }, signal);
    return { items: found.cases, next: found.next };
  };
  const { items: cases, error, loadMore, reload, body } = usePages(load, [run.id]);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!cases) return null;
  if (!cases.length) return html`<${EmptyState} title="No case yet.">They appear here as they are judged.<//>`;
  return html`
    <div class="sheet scroll"><table class="cases">
      <${TableHead} columns=${["case", "question", "judgements"]} />
      <tbody ref=${body}>${cases.map(({ sample_id: id, method, question, statuses }) => html`
        <tr>
          <${CaseCell} run=${run.id} id=${id} method=${method} />
          <td><${Text}>${question}<//></td>
          <td><ul class="statuses">${Object.entries(statuses).map(([metric, status]) => html`
            <li class=${status}>
              <span aria-hidden="true">${MARKS[status] ?? "?"}</span>
              <span class="mono small"><bdi>${metric}</bdi></span><span class="unseen"> ${status}</span>
            </li>`)}</ul></td>
        </tr>`)}</tbody>
    </table></div>
    ${loadMore && html`<button type="button" onClick=${loadMore}>More</button>`}`;
}

/** How far a run is: a bar of scored, skipped and failed, with counts. */

import { count, counted, dollars, percent, seconds } from "../format.js";
import { html } from "../html.js";

const PARTS = [["scored", "good"], ["skipped", "plain"], ["failed", "bad"]];

/** What is said of a run that has not begun. */
export const QUEUED = "It starts in a moment, or when the runs before it are done.";

/** The progress of a run, of one height whatever it shows; `live` while it runs. Without `bar` only its counts are shown. */
export function ProgressBar({ progress, live = false, bar = true }) {
  const { done = 0, total } = progress ?? {};
  const whole = total ?? done;
  const width = (many) => (whole ? `${(100 * many) / whole}%` : "0");
  return html`
    <div class="progress">
      ${bar && html`
        <div class="meter wide" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax="100"
          aria-valuenow=${String(whole ? Math.floor((100 * done) / whole) : 0)} aria-valuetext=${progress && describeProgress(progress)}>
          ${PARTS.map(([name, tone]) => html`
            <span class=${`meter-fill ${tone}`} style=${{ width: width(progress?.[name] ?? 0) }} data-part=${name} />`)}
        </div>`}
      <p class="small soft progress-text">${progress ? describeInFull(progress, live) : "\u00a0"}</p>
    </div>`;
}

/** Describe how far a run is in a few words. */
export function describeProgress({ done, total, failed }) {
  const far = total ? `${count(done)} of ${count(total)} judgements, ${percent(done / total)}` : counted(done, "judgement");
  return failed ? `${far}, ${count(failed)} failed` : far;
}

function describeInFull(progress, live) {
  const left = estimateSeconds(progress);
  return [
    describeProgress({ ...progress, failed: 0 }),
    ...PARTS.map(([name]) => progress[name] > 0 && `${count(progress[name])} ${name}`),
    progress.items_failed > 0 && `${counted(progress.items_failed, "item")} failed alone`,
    progress.unread > 0 && `${counted(progress.unread, "row")} not read`,
    progress.kept > 0 && `${count(progress.kept)} kept`,
    progress.usage?.calls > 0 && counted(progress.usage.calls, "call"),
    progress.cost > 0 && dollars(progress.cost),
    live && left !== null && `${seconds(left)} left`,
  ].filter(Boolean).join(" · ");
}

function estimateSeconds({ done, kept, total, seconds: spent }) {
  const judged = done - kept;
  return total && judged > 0 ? (spent / judged) * Math.max(0, total - done) : null;
}

/** Judging questions of a run again in a new one: which of them, kept while the tab is open. */

import { get, name as part } from "./api.js";
import { NO_RESULT } from "./case_grid.js";

const KEY = "greval.chosen.";

/** Keep the ids that were chosen in the list of a run. */
export const keepChosen = (run, ids) => sessionStorage.setItem(KEY + run, JSON.stringify(ids));

/** Return the ids that were chosen in the list of a run, null if none were. */
export function readChosen(run) {
  try {
    const ids = JSON.parse(sessionStorage.getItem(KEY + run));
    return Array.isArray(ids) && ids.length ? ids : null;
  } catch {
    return null;
  }
}

/** Return the ids of the questions of a run with a failed result of some metrics, or of any if none are named. */
export async function listFailed(run, metrics, signal) {
  const grid = await get(`/v1/runs/${part(run)}/grid`, {}, signal);
  const columns = grid.columns.filter(({ metric }) => !metrics.length || metrics.includes(metric));
  return grid.sample_ids.filter((_, row) =>
    columns.some(({ cells, statuses }) => cells[row] !== NO_RESULT && statuses[cells[row]] === "failed"));
}

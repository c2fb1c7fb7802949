/** How answers begin, and why they were judged so, for the rows of a table that are in sight. */

import { useEffect, useRef, useState } from "../vendor/preact_hooks.js";
import { get, name as part } from "./api.js";
import { groupBy } from "./grouping.js";

const WAIT_MS = 60; // rows that were only scrolled past are not asked for
const MAX_SAMPLES = 40;
const MAX_CHARACTERS = 4000; // of the ids in an address

/**
 * Request the excerpts of samples for a metric; those that came stay until the grid or the metric changes.
 * @returns {Map} the excerpts by sample, one for each method
 */
export function useExcerpts(run, grid, metric, samples) {
  const [, countAnswer] = useState(0);
  const held = useRef({});
  if (held.current.grid !== grid || held.current.metric !== metric) held.current = { grid, metric, bySample: new Map() };
  const { bySample } = held.current;
  const missing = metric ? chooseIds(samples.filter((sample) => !bySample.has(sample))) : [];
  useEffect(() => {
    if (!missing.length) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { excerpts } = await get(`/v1/runs/${part(run)}/excerpts`, { metric, sample_id: missing }, controller.signal);
        const found = groupBy(excerpts, ({ sample_id: sample }) => sample);
        for (const sample of missing) bySample.set(sample, found.get(sample) ?? []);
        countAnswer((number) => number + 1); // so that the rows are drawn again
      } catch {
        // the rows stay without texts; the case itself says what is wrong
      }
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [run, grid, metric, JSON.stringify(missing)]);
  return bySample;
}

/** Return the first ids, as many as an address may hold. */
function chooseIds(ids) {
  let characters = 0;
  return ids.slice(0, MAX_SAMPLES).filter((id) => (characters += encodeURIComponent(id).length) <= MAX_CHARACTERS);
}

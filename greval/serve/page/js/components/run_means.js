/** What a run found, in the list of runs: the mean of each metric with its interval, for each method. */

import { useEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { count, formatMean } from "../format.js";
import { groupBy } from "../grouping.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";

const MAX_METRICS = 4;

/** The means, which are requested once the run is in sight; nothing if it has no results. */
export function RunMeans({ run }) {
  const place = useRef(null);
  const inSight = useSight(place);
  const { data } = useRequest(
    async (signal) => (inSight ? get(`/v1/runs/${part(run.id)}/report`, {}, signal) : null), [run.id, inSight, run.status],
  );
  const metrics = [...groupBy(data?.summaries ?? [], ({ metric }) => metric)];
  const more = run.metrics.length - MAX_METRICS;
  return html`
    <dl class="means" ref=${place} style=${{ "--lines": Math.min(run.metrics.length, MAX_METRICS), "--methods": Math.max(1, run.methods?.length ?? 1) }}>
      ${metrics.slice(0, MAX_METRICS).map(([metric, summaries]) => html`
        <dt class="mono" dir="auto">${metric}</dt>
        <dd>${summaries.map((summary) => html`<span>${summary.group && html`<bdi class="soft">${summary.group}</bdi> `}${formatMean(summary)}</span>`)}</dd>`)}
      ${metrics.length > 0 && more > 0 && html`<dt class="soft small">and ${count(more)} more</dt><dd />`}
    </dl>`;
}

/** Return whether an element has been in sight. */
function useSight(place) {
  const [inSight, setInSight] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && setInSight(true));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return inSight;
}

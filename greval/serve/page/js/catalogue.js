/** What the server offers: metrics and judges, asked for once and kept while the page is open, and data sets. */

import { get } from "./api.js";

let metrics = null;
let judges = null;

/** Return the metrics of the library by name. */
export async function allMetrics({ fresh = false } = {}) {
  if (!metrics || fresh) {
    const asked = get("/v1/metrics").then(({ metrics: list }) => new Map(list.map((metric) => [metric.name, metric])));
    metrics = asked;
    asked.catch(() => {
      if (metrics === asked) metrics = null;
    });
  }
  return metrics;
}

/** Return the judges, the default first. */
export async function allJudges() {
  if (!judges) {
    const asked = get("/v1/judges").then(({ judges: list }) =>
      list.toSorted((a, b) => Number(b.default) - Number(a.default)));
    judges = asked;
    asked.catch(() => {
      judges = null;
    });
  }
  return judges;
}

/** Return all data sets, the newest first; the server lists them page by page. */
export async function allDatasets(signal) {
  const datasets = [];
  let cursor = null;
  do {
    const page = await get("/v1/datasets", { limit: 1000, cursor }, signal);
    datasets.push(...page.datasets);
    cursor = page.next;
  } while (cursor);
  return datasets;
}

/** Return what is known of some metrics by name, those that the library does not list among them (`ndcg@5`). */
export async function knownMetrics(names, signal) {
  const listed = await allMetrics();
  const found = await Promise.all([...new Set(names)].map(async (name) =>
    [name, listed.get(name) ?? (await get(`/v1/metrics/${encodeURIComponent(name)}`, {}, signal).catch(() => null))]));
  return new Map(found.filter(([, metric]) => metric));
}

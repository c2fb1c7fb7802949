/** Small marks: what a metric is, and how a run or a judgement stands. */

import { h } from "../dom.js";

const RUN = { queued: "wait", running: "live", finished: "good", stopped: "warn", failed: "bad" };
const OUTCOME = { scored: "good", skipped: "plain", failed: "bad" };

/** Give a mark in plain words. */
export const badge = (word, tone = "plain") => h("span", { class: `badge ${tone}` }, word);

/** Give the status of a run. */
export const runBadge = (status) => badge(status, RUN[status] ?? "plain");

/** Give the status of a judgement. */
export const outcomeBadge = (status) => badge(status, OUTCOME[status] ?? "plain");

/** Give the marks of a metric: kind, what it is over, where it comes from. */
export const metricBadges = (metric) => [
  badge(metric.kind, metric.kind === "judged" ? "judged" : "plain"),
  metric.over ? badge(`each of ${metric.over}`) : null,
  metric.origin === "predefined" ? null : badge(metric.origin),
];

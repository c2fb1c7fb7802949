/** Badges: what a metric is, and the status of a run or a result. */

import { html } from "../html.js";

const RUN_TONES = { queued: "wait", running: "live", finished: "good", stopped: "warn", failed: "bad" };
const OUTCOME_TONES = { scored: "good", skipped: "plain", failed: "bad" };

/** A badge; `tone` is good, bad, warn, wait, live, judged or plain. */
export const Badge = ({ tone = "plain", children }) => html`<span class=${`badge ${tone}`}>${children}</span>`;

/** The status of a run. */
export const RunBadge = ({ status }) => html`<${Badge} tone=${RUN_TONES[status]}>${status}<//>`;

/** The status of a result. */
export const OutcomeBadge = ({ status }) => html`<${Badge} tone=${OUTCOME_TONES[status]}>${status}<//>`;

/** The badges of a metric: its kind, its items, its origin. */
export const MetricBadges = ({ metric: { kind, over, origin } }) => html`
  <${Badge} tone=${kind === "judged" ? "judged" : "plain"}>${kind}<//>
  ${over && html`<${Badge}>each of ${over}<//>`}
  ${origin !== "predefined" && html`<${Badge}>${origin}<//>`}`;

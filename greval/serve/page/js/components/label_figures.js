/** What the labels of a run say so far: agreement with the judge, people among themselves, corrected means. */

import { useEffect, useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { count, figure } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { Problem } from "./notices.js";

const EVERY = 5;
const IDLE_MS = 1500;
const MOST_FIGURES = 3;

/** The figures of a metric's labels, read again after every few labels; `saved` counts the labels. */
export function LabelFigures({ run, metric, saved }) {
  const counted = useCounted(saved);
  const { data, error } = useRequest((signal) => (counted > 0 ? loadFigures(run, metric, counted, signal) : Promise.resolve(null)), [run, metric, counted]);
  return html`
    <aside class="sheet label-figures" aria-label="Figures so far">
      <h2>Figures so far</h2>
      ${error && html`<${Problem} error=${error} />`}
      ${data ? html`<${Agreement} ...${data.agreement} />${data.estimate && html`<${Estimates} ...${data.estimate} />`}` : html`<p class="soft">They appear with the first labels.</p>`}
    </aside>`;
}

/** Return the number of labels to read figures of: that of every few labels, and of the last one after a moment. */
function useCounted(saved) {
  const [counted, setCounted] = useState(saved);
  useEffect(() => {
    const timer = setTimeout(() => setCounted(saved), saved % EVERY && counted ? IDLE_MS : 0);
    return () => clearTimeout(timer);
  }, [saved]);
  return counted;
}

async function loadFigures(run, metric, saved, signal) {
  const load = (what) => get(`/v1/runs/${part(run)}/${what}`, { metric }, signal);
  const estimate = saved < EVERY ? null : load("estimate").catch((error) => ({ refused: error.message }));
  return { agreement: await load("agreement"), estimate: await estimate };
}

function Agreement({ groups: [whole], annotators, findings = [] }) {
  if (!whole) return html`<p class="soft">No label can be compared with a verdict yet.</p>`;
  const { judge, people, things } = whole;
  return html`
    <h3>Judge and people</h3>
    ${findings.map((sentence) => html`<p class="small">${sentence}</p>`)}
    <${FigureList} ...${judge} />
    <p class="soft small">${count(things)} items, labelled by <bdi>${annotators.join(", ")}</bdi></p>
    <h3>People among themselves</h3>
    ${people.pairs.length ? html`<${FigureList} ...${people} />` : html`<p class="soft small">Not known: ${people.why}</p>`}`;
}

/** The names that say which kappa and alpha it is; other figures have one form. */
const nameFigure = (name, distance) => name === "kappa" ? "kappa (unweighted)" : name === "alpha" ? `alpha (${distance})` : name;

const FigureList = ({ figures, distance }) => html`
  <dl class="facts">
    ${Object.entries(figures).slice(0, MOST_FIGURES).map(([name, one]) => html`
      <dt>${nameFigure(name, distance)}</dt>
      <dd>${one.status === "known" ? html`<b>${figure(one.value)}</b> ${formatInterval(one.clustered ?? one.interval)}` : html`<span class="soft small">${one.reason}</span>`}</dd>`)}
  </dl>`;

function Estimates({ rows, refused }) {
  if (refused) return html`<p class="soft small">${refused}</p>`;
  return html`
    <h3>Mean, corrected by people</h3>
    <dl class="facts">
      ${rows.map(({ method, category, judge, prediction_powered: corrected }) => html`
        <dt><bdi>${[method, category].filter(Boolean).join(", ") || "all"}</bdi></dt>
        <dd>${corrected?.value === null || !corrected
          ? html`<span class="soft small">${corrected?.reason ?? "not known"}</span>`
          : html`<b>${figure(corrected.value)}</b> ${formatInterval(corrected.interval)}`}
          <span class="soft small"> judge ${judge.value === null ? "–" : figure(judge.value)}</span></dd>`)}
    </dl>`;
}

const formatInterval = (interval) => (interval ? `[${figure(interval.low)}, ${figure(interval.high)}]` : "");

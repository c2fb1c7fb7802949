/** A metric in full: description, scale with every value described, steps, needs, notes, its file. */

import { useLayoutEffect, useRef } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { get, name as part } from "../api.js";
import { Badge, MetricBadges } from "../components/badge.js";
import { CopyButton } from "../components/fields.js";
import { Problem } from "../components/notices.js";
import { Text } from "../components/text.js";
import { figure } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at } from "../router.js";
import { describeScale, kindOf, toneClass } from "../scale.js";

/** A metric of the library by its name; the last one stays until it has arrived. `onShown` gets the heading. */
export function MetricView({ name, onShown }) {
  const { data: metric, error, reload } = useRequest((signal) => get(`/v1/metrics/${part(name)}`, {}, signal), [name]);
  const heading = useRef(null);
  useLayoutEffect(() => {
    if (!metric) return;
    announce(`${metric.name}: ${metric.description}`);
    onShown(heading.current);
  }, [metric]);
  return html`
    <p class="crumbs only-narrow"><a href="#/library">← All metrics</a></p>
    ${error ? html`<${Problem} error=${error} retry=${reload} />` : metric && html`<${MetricDetails} metric=${metric} heading=${heading} />`}`;
}

const MetricDetails = ({ metric, heading }) => html`
  <article class="sheet metric" aria-label=${metric.name}>
    <header class="head">
      <div>
        <h2 class="metric-name mono" dir="auto" tabindex="-1" ref=${heading}>${metric.name}</h2>
        <p class="badges"><${MetricBadges} metric=${metric} /></p>
      </div>
      <div class="actions">
        ${metric.yaml && (metric.origin === "own"
          ? html`<a class="button" href=${at(["metrics", metric.name, "edit"])}>Edit</a>`
          : html`<a class="button" href=${at(["metrics", "new"], { from: metric.name })}>Copy and edit</a>`)}
        <a class="button" href=${at("playground", { metric: metric.name })}>Try it</a>
        <a class="button" href=${at("history", { metric: metric.name })}>History</a>
      </div>
    </header>
    <p class="lead"><${Text}>${metric.description}<//></p>
    <${Section} title="Needs"><p class="badges">${metric.needs.map((need) => html`<${Badge}>${need.replaceAll("_", " ")}<//>`)}</p><//>
    <${Section} title="Scale"><${ScaleDetails} scale=${metric.scale} /><//>
    ${metric.steps?.length > 0 && html`
      <${Section} title="Steps"><ol class="steps">${metric.steps.map((step) => html`<li><${Text}>${step}<//></li>`)}</ol><//>`}
    ${metric.instructions && html`<${Section} title="Rules"><p><${Text}>${metric.instructions}<//></p><//>`}
    ${hasEntries(metric.notes) && html`<${Section} title="Also told"><${NoteDefinitions} notes=${metric.notes} /><//>`}
    ${hasEntries(metric.uses) && html`<${Section} title="Builds on"><${UsedMetrics} uses=${metric.uses} /><//>`}
    ${metric.judge && html`<${Section} title="Judge"><p class="mono"><${Text}>${metric.judge.model ?? metric.judge}<//></p><//>`}
    ${metric.yaml && html`<${MetricFile} yaml=${metric.yaml} />`}
  </article>`;

const hasEntries = (object) => Object.keys(object ?? {}).length > 0;

const Section = ({ title, children }) => html`<section class="stack-small"><h3>${title}</h3>${children}</section>`;

function ScaleDetails({ scale }) {
  const rows = kindOf(scale) === "categories"
    ? Object.entries(scale.categories).map(([value, { means, score }]) => [value, means, score])
    : kindOf(scale) === "range" ? Object.entries(scale.levels) : [];
  return html`
    <p class="soft small">${describeScale(scale)}</p>
    ${rows.length > 0 && html`
      <dl class="scale">${rows.map(([value, means, score]) => html`
        <div class=${`scale-row ${toneClass(scale, value)}`}>
          <dt><bdi>${value}</bdi>${typeof score === "number" && html`<span class="soft small"> counts ${figure(score)}</span>`}</dt>
          <dd><${Text}>${means || "–"}<//></dd>
        </div>`)}</dl>`}`;
}

const NoteDefinitions = ({ notes }) => html`
  <dl class="facts">${Object.entries(notes).map(([name, note]) => html`
    <dt>${name.replaceAll("_", " ")}</dt>
    <dd><${NoteDefinition} note=${note} /></dd>`)}</dl>`;

function NoteDefinition({ note }) {
  if (note.share) return describeShare(note);
  const fields = Object.entries(note.each ?? {}).map(([field, content]) => `${field}: ${[content].flat().join(", ")}`);
  return html`
    <${Text}>${typeof note === "string" ? note : note.means}<//>
    ${fields.length > 0 && html`<ul class="small soft">${fields.map((field) => html`<li dir="auto">${field}</li>`)}</ul>`}`;
}

function describeShare({ share, where, among }) {
  const of = hasEntries(among) ? `, among ${describeConditions(among)}` : "";
  return `a share counted in ${share.replaceAll("_", " ")}: ${describeConditions(where)}${of}`;
}

const describeConditions = (fields) =>
  Object.entries(fields).map(([field, words]) => `${field} is ${[words].flat().join(" or ")}`).join(" and ");

const UsedMetrics = ({ uses }) => html`
  <ul>${Object.entries(uses).map(([field, use]) => html`
    <li>only ${field} that <a class="mono" href=${at(["library", use.judged_by])}>${use.judged_by}</a> judged ${(use.as ?? use.values ?? []).join(" or ")}</li>`)}</ul>`;

const MetricFile = ({ yaml }) => html`
  <details class="file">
    <summary>Metric file</summary>
    <div class="file-content"><${CopyButton} content=${yaml} /><pre class="block" tabindex="0" dir="auto">${yaml}</pre></div>
  </details>`;

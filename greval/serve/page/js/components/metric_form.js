/** The form of a metric: name, description, needs, scale, steps, and the rest that most metrics have. */

import { useLayoutEffect, useRef } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";
import { EXAMPLE_TEXTS, INPUTS, listLevels, newExample, newScale } from "../metric_document.js";
import { Field, SegmentedControl, Select } from "./fields.js";
import { Notice } from "./notices.js";

const SCALES = [["categories", "Categories"], ["range", "Range of numbers"]];
const OVER = [
  [null, "The whole case"], ["chunks", "Each chunk by itself"], ["triples", "Each triple by itself"],
  ["claims", "Each claim of the answer by itself"], ["expected_claims", "Each claim of the expected answer by itself"],
];
const EXAMPLE_LABELS = { question: "Question", answer: "Answer", expected_answer: "Expected answer" };
const BETTER = [["higher", "Higher is better"], ["lower", "Lower is better"], ["", "Not said"]];

/** The fields of a metric; `onChange(key, value)` gets each change. A field that only the file can show is said. */
export function MetricForm({ fields, judges, onChange }) {
  const shown = (key, content) => (fields[key] === null && key !== "over" ? null : content());
  const text = (key, label, hint, lines) => shown(key, () => html`
    <${Field} label=${label} hint=${hint}>${lines
      ? html`<textarea rows=${lines} dir="auto" data-key=${key} value=${fields[key]} onInput=${({ target }) => onChange(key, target.value)} />`
      : html`<input type="text" dir="auto" autocomplete="off" spellcheck=${false} data-key=${key} value=${fields[key]} onInput=${({ target }) => onChange(key, target.value)} />`}
    <//>`);
  return html`
    <div class="stack">
      ${text("name", "Name", "One word, such as tone; results are listed under it.")}
      ${text("description", "What it judges", "One sentence, such as: Whether the answer is polite.", 2)}
      ${!fields.hidden.includes("formula") && html`
        <${Field} label="Judges"><${Select} options=${OVER} value=${fields.over} onChange=${(over) => onChange("over", over)} /><//>`}
      ${shown("needs", () => html`<${NeedsField} needs=${fields.needs} over=${fields.over} onChange=${(needs) => onChange("needs", needs)} />`)}
      ${shown("scale", () => html`<${ScaleField} scale=${fields.scale} onChange=${(scale) => onChange("scale", scale)} />`)}
      ${shown("steps", () => html`<${StepsField} steps=${fields.steps} onChange=${(steps) => onChange("steps", steps)} />`)}
      <details open=${Boolean(fields.instructions || fields.notes?.length || fields.pass || fields.examples?.length || fields.judge)}>
        <summary>Rules, notes, examples, what passes, and a judge of its own</summary>
        <div class="stack">
          ${text("instructions", "Rules", "What holds for every case, such as what to do when in doubt.", 2)}
          ${shown("notes", () => html`<${NotesField} notes=${fields.notes} onChange=${(notes) => onChange("notes", notes)} />`)}
          ${shown("examples", () => html`<${ExamplesField} examples=${fields.examples} needs=${fields.needs ?? []} notes=${fields.notes ?? []} onChange=${(examples) => onChange("examples", examples)} />`)}
          ${text("pass", "A case passes if its number is", "Such as >= 0.7; it changes no verdict.")}
          ${shown("judge", () => html`<${OwnJudge} judges=${judges} value=${fields.judge} onChange=${(judge) => onChange("judge", judge)} />`)}
        </div>
      </details>
      ${fields.hidden.length > 0 && html`
        <${Notice}><p>Only in the file, and kept there as it is: <bdi>${fields.hidden.join(", ")}</bdi>. Choose YAML to see it.</p><//>`}
    </div>`;
}

/** What the judge is shown of a case; the items that are judged are always among it. */
function NeedsField({ needs, over, onChange }) {
  const further = needs.filter((need) => !INPUTS.includes(need));
  const toggle = (need, on) => onChange(on ? [...needs, need] : needs.filter((one) => one !== need));
  return html`
    <fieldset class="field">
      <legend>What the judge is shown</legend>
      <div class="needs">${[...INPUTS, ...further].map((need) => html`
        <label class="check">
          <input type="checkbox" checked=${needs.includes(need) || need === over} disabled=${need === over}
            onChange=${({ target }) => toggle(need, target.checked)} />
          <bdi>${need.replaceAll("_", " ")}</bdi>
        </label>`)}</div>
    </fieldset>`;
}

function ScaleField({ scale, onChange }) {
  return html`
    <fieldset class="field">
      <legend>Scale</legend>
      <${SegmentedControl} label="Kind of scale" options=${SCALES} value=${scale.kind} onChange=${(kind) => onChange(newScale(kind))} />
      ${scale.kind === "categories"
        ? html`<${Categories} scale=${scale} onChange=${onChange} />`
        : html`<${Levels} scale=${scale} onChange=${onChange} />`}
    </fieldset>`;
}

function Categories({ scale, onChange }) {
  const rows = scale.categories;
  const put = (categories) => onChange({ ...scale, categories });
  const change = (place, difference) => put(rows.with(place, { ...rows[place], ...difference }));
  const input = (place, key, label, attributes = {}) => html`
    <input type="text" dir="auto" autocomplete="off" aria-label=${`${label} ${place + 1}`} placeholder=${label} value=${rows[place][key]}
      ...${attributes} onInput=${({ target }) => change(place, { [key]: target.value })} />`;
  return html`
    <p class="hint">Best first. The score is the number that a mean counts; leave it empty if there is none.</p>
    <${OrderedRows} rows=${rows} word="category" words="Categories" onChange=${put} make=${() => ({ name: "", means: "", score: "" })}
      render=${(row, place) => html`
        <div class="category">
          ${input(place, "name", "Category")}
          ${input(place, "score", "Score", { inputmode: "decimal", class: "short" })}
          <textarea rows="1" dir="auto" aria-label=${`When category ${place + 1} applies`} placeholder="When it applies, and how it differs from its neighbours"
            value=${row.means} onInput=${({ target }) => change(place, { means: target.value })} />
        </div>`} />
    <label class="check"><input type="checkbox" checked=${scale.ordered} onChange=${({ target }) => onChange({ ...scale, ordered: target.checked })} /> The order counts: the first is the best</label>`;
}

function Levels({ scale, onChange }) {
  const end = (key, label) => html`
    <${Field} label=${label}><input type="text" inputmode="numeric" class="short" value=${scale[key]}
      onInput=${({ target }) => onChange({ ...scale, [key]: target.value.trim() })} /><//>`;
  return html`
    <div class="ends">
      ${end("low", "From")}${end("high", "To")}
      <${Field} label="Direction"><${Select} options=${BETTER} value=${scale.better} onChange=${(better) => onChange({ ...scale, better })} /><//>
    </div>
    <ol class="levels">${listLevels(scale).map((level) => html`
      <li key=${level}>
        <span class="mono" aria-hidden="true">${level}</span>
        <textarea rows="1" dir="auto" aria-label=${`What ${level} means`} placeholder=${`What ${level} means`} value=${scale.levels[level] ?? ""}
          onInput=${({ target }) => onChange({ ...scale, levels: { ...scale.levels, [level]: target.value } })} />
      </li>`)}</ol>`;
}

const StepsField = ({ steps, onChange }) => html`
  <fieldset class="field">
    <legend>Steps</legend>
    <p class="hint">What a careful expert would do, one after the other. Alt with the arrow keys moves a step.</p>
    <${OrderedRows} rows=${steps} word="step" words="Steps" onChange=${onChange} make=${() => ""}
      render=${(step, place) => html`
        <textarea rows="1" dir="auto" aria-label=${`Step ${place + 1}`} value=${step} onInput=${({ target }) => onChange(steps.with(place, target.value))} />`} />
  </fieldset>`;

const NotesField = ({ notes, onChange }) => html`
  <fieldset class="field">
    <legend>Notes</legend>
    <p class="hint">What the judge writes beside its verdict, such as what would improve the answer.</p>
    <${OrderedRows} rows=${notes} word="note" words="Notes" onChange=${onChange} make=${() => ({ name: "", means: "" })}
      render=${(note, place) => html`
        <div class="category">
          <input type="text" dir="auto" autocomplete="off" aria-label=${`Name of note ${place + 1}`} placeholder="Name" value=${note.name}
            onInput=${({ target }) => onChange(notes.with(place, { ...note, name: target.value }))} />
          <textarea rows="1" dir="auto" aria-label=${`What note ${place + 1} says`} placeholder="What it says" value=${note.means}
            onInput=${({ target }) => onChange(notes.with(place, { ...note, means: target.value }))} />
        </div>`} />
  </fieldset>`;

/** Judged cases that the judge is shown before each case. */
function ExamplesField({ examples, needs, notes, onChange }) {
  const change = (place, key, value) => onChange(examples.with(place, { ...examples[place], [key]: value }));
  const area = (place, label, value, give) => html`
    <textarea rows="1" dir="auto" aria-label=${`${label} of example ${place + 1}`} placeholder=${label} value=${value}
      onInput=${({ target }) => give(target.value)} />`;
  const noteNames = [...new Set(notes.map(({ name }) => name.trim()))].filter(Boolean);
  const keys = EXAMPLE_TEXTS.filter((key) => key === "question" || needs.includes(key) || examples.some((one) => one[key]));
  return html`
    <fieldset class="field">
      <legend>Examples</legend>
      <p class="hint">Cases that are judged already, which the judge sees before each case. Two or three that are hard help most.</p>
      <${OrderedRows} rows=${examples} word="example" words="Examples" onChange=${onChange} make=${newExample}
        render=${(row, place) => html`
          <div class="stack-small">
            ${keys.map((key) => area(place, EXAMPLE_LABELS[key], row[key], (text) => change(place, key, text)))}
            <input type="text" dir="auto" autocomplete="off" aria-label=${`Value of example ${place + 1}`} placeholder="Value" value=${row.value}
              onInput=${({ target }) => change(place, "value", target.value)} />
            ${area(place, "Reason", row.reason, (text) => change(place, "reason", text))}
            ${noteNames.map((name) => area(place, `Note ${name}`, row.notes[name] ?? "", (text) => change(place, "notes", { ...row.notes, [name]: text })))}
          </div>`} />
    </fieldset>`;
}

/** The judge that the metric names; most name none. */
function OwnJudge({ judges, value, onChange }) {
  const labels = [...new Set([...judges.map(({ label }) => label), ...(value ? [value] : [])])];
  const options = [["", "The one that is chosen when judging"], ...labels.map((label) => [label, label])];
  return html`<${Field} label="Judge of this metric"><${Select} options=${options} value=${value} onChange=${onChange} /><//>`;
}

/**
 * Rows in an order: each can be moved up and down, by buttons and by Alt with an arrow key, and removed.
 * The focus stays with the row that was moved, goes to one that was added, and to the next after a removal.
 */
function OrderedRows({ rows, word, words, make, render, onChange }) {
  const list = useRef(null);
  const add = useRef(null);
  const wanted = useRef(null);
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const { place, selector } = wanted.current;
    const row = list.current.children[Math.min(place, rows.length - 1)];
    (row?.querySelector(selector) ?? row?.querySelector("textarea, input") ?? add.current).focus();
    wanted.current = null;
  });
  function move(place, by, selector) {
    const target = place + by;
    if (target < 0 || target >= rows.length) return;
    wanted.current = { place: target, selector };
    onChange(rows.toSpliced(place, 1).toSpliced(target, 0, rows[place]));
  }
  function grow() {
    wanted.current = { place: rows.length, selector: "textarea, input" };
    onChange([...rows, make()]);
  }
  function remove(place) {
    wanted.current = { place, selector: "textarea, input" };
    onChange(rows.toSpliced(place, 1));
  }
  function press(event, place) {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    const label = event.target.getAttribute("aria-label") ?? "";
    const kind = event.target.tagName === "TEXTAREA" || !label ? "textarea" : "input";
    move(place, event.key === "ArrowUp" ? -1 : 1, kind);
  }
  return html`
    <ol class="ordered" aria-label=${words} ref=${list}>${rows.map((row, place) => html`
      <li onKeyDown=${(event) => press(event, place)}>
        ${render(row, place)}
        <span class="row-tools">
          <button type="button" class="quiet up" aria-label=${`Move ${word} ${place + 1} up`} aria-disabled=${place === 0 ? "true" : null} onClick=${() => move(place, -1, ".up")}><span aria-hidden="true">↑</span></button>
          <button type="button" class="quiet down" aria-label=${`Move ${word} ${place + 1} down`} aria-disabled=${place === rows.length - 1 ? "true" : null} onClick=${() => move(place, 1, ".down")}><span aria-hidden="true">↓</span></button>
          <button type="button" class="quiet" aria-label=${`Remove ${word} ${place + 1}`} onClick=${() => remove(place)}><span aria-hidden="true">×</span></button>
        </span>
      </li>`)}</ol>
    <p><button type="button" ref=${add} onClick=${grow}>Add ${/^[aeiou]/.test(word) ? "an" : "a"} ${word}</button></p>`;
}

/** Claims, chunks and triples as rows to fill in; what a row holds beyond its fields is kept. */

import { useId, useLayoutEffect, useRef } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";

const FIELDS = {
  claims: [["text", "Claim", 2]],
  expected_claims: [["text", "Expected claim", 2]],
  chunks: [["text", "Text", 2], ["doc_id", "Document"]],
  triples: [["subject", "Subject"], ["predicate", "Predicate"], ["object", "Object"]],
};

/** The letter of the ids that are made by position. */
const LETTERS = { claims: "a", expected_claims: "e", chunks: "c", triples: "t" };

/** Return what was given as a row: an object, a chunk as its text, a triple as a list of three. */
export function readRow(given) {
  if (typeof given === "string") return { text: given };
  if (Array.isArray(given)) return { subject: given[0], predicate: given[1], object: given[2] };
  return given;
}

/** Return the rows that hold something; each keeps its id, or gets one by its position. */
export function filledRows(kind, given) {
  const rows = (given ?? []).map(readRow).filter((row) => FIELDS[kind].some(([name]) => row[name]?.trim()));
  const ids = new Set(rows.map(({ id }) => id));
  return rows.map((row, place) => {
    const full = { ...Object.fromEntries(FIELDS[kind].map(([name]) => [name, ""])), ...row };
    if (!full.doc_id?.trim()) delete full.doc_id;
    else if (!full.text?.trim()) delete full.text;
    if (full.id === undefined) {
      let number = place + 1;
      while (ids.has(`${LETTERS[kind]}${number}`)) number += 1;
      full.id = `${LETTERS[kind]}${number}`;
      ids.add(full.id);
    }
    return full;
  });
}

/** The rows of one kind; `suffix` stands behind all labels. A row that is added gets the focus; after a removal its successor does. */
export function RowsField({ kind, label, suffix = "", hint, rows: given, onChange }) {
  const rows = given?.length ? given.map(readRow) : [{}];
  const list = useRef(null);
  const add = useRef(null);
  const focused = useRef(null);
  useLayoutEffect(() => {
    if (focused.current === null) return;
    const row = list.current.children[Math.min(focused.current, rows.length - 1)];
    (row?.querySelector("textarea, input") ?? add.current).focus();
    focused.current = null;
  });
  const one = label.toLowerCase().slice(0, -1);
  const change = (place, name, value) => onChange(rows.with(place, { ...rows[place], [name]: value }));
  const grow = () => {
    focused.current = rows.length;
    onChange([...rows, {}]);
  };
  const remove = (place) => {
    focused.current = place;
    onChange(rows.toSpliced(place, 1));
  };
  return html`
    <fieldset class="field">
      <legend>${label}${suffix}</legend>
      ${hint && html`<p class="hint">${hint}</p>`}
      <ol class="rows" ref=${list}>${rows.map((row, place) => html`
        <li class=${`row ${kind}`}>
          ${FIELDS[kind].map(([name, word, lines]) => html`
            <${RowCell} name=${name} label=${word} number=${`${place + 1}${suffix}`} lines=${lines} value=${row[name] ?? ""}
              onInput=${(value) => change(place, name, value)} />`)}
          <button type="button" class="quiet" aria-label=${`Remove ${one} ${place + 1}${suffix}`} onClick=${() => remove(place)}>
            <span aria-hidden="true">×</span>
          </button>
        </li>`)}</ol>
      <button type="button" ref=${add} onClick=${grow}>Add ${one}${suffix}</button>
    </fieldset>`;
}

function RowCell({ name, label, number, lines, value, onInput }) {
  const id = useId();
  const attributes = { id, dir: "auto", value, placeholder: label, onInput: ({ target }) => onInput(target.value) };
  return html`
    <div class=${`cell ${name}`}>
      <label for=${id} class="unseen">${label} ${number}</label>
      ${lines ? html`<textarea ...${attributes} rows=${lines} />` : html`<input ...${attributes} type="text" />`}
    </div>`;
}

/** Fields of forms. */

import { cloneElement } from "../../vendor/preact.js";
import { useId, useState } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";

const COPIED_MS = 2000;

/** A control under its label; the hint is read with it. */
export function Field({ label, hint, children: control }) {
  const id = useId();
  const described = hint ? { "aria-describedby": `${id}-hint` } : {};
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${cloneElement(control, { id, ...described })}
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>`;
}

/**
 * A select of [value, label] pairs. A value may be any text, also the empty one, or null for no choice: options are
 * told apart by their position.
 */
export const Select = ({ id, options, value, onChange, ...attributes }) => html`
  <select id=${id} ...${attributes} onChange=${({ target }) => onChange(options[target.selectedIndex][0])}>
    ${options.map(([one, label]) => html`<option value=${one ?? ""} selected=${one === value}>${label}</option>`)}
  </select>`;

/** Returns the pairs of a select of names, after one that means no choice; a name may be empty. */
export const nameOptions = (first, names) => [[null, first], ...names.map((name) => [name, name || "(none)"])];

/** Return options with the one that is chosen among them, also if it is none of those that are offered. */
export const withCurrent = (options, value) =>
  (value === null || options.some(([one]) => one === value) ? options : [...options, [value, value]]);

/** A text field that reports its text when it loses the focus or Enter is pressed. */
export const TextEntry = ({ id, value, onChange, ...attributes }) => html`
  <input id=${id} type="text" value=${value ?? ""} autocomplete="off" spellcheck=${false} ...${attributes}
    onChange=${({ target }) => onChange(target.value.trim())} />`;

/** A search field without a visible label; `/` focuses it. */
export const SearchField = ({ label, value, onInput }) => html`
  <input type="search" aria-label=${label} placeholder=${`${label}  /`} value=${value} autocomplete="off" spellcheck=${false}
    onInput=${({ target }) => onInput(target.value)} />`;

/** Radio buttons that look like one control; options are [value, label] pairs. */
export function SegmentedControl({ label, options, value, onChange }) {
  const name = useId();
  return html`
    <fieldset class="segments">
      <legend class="unseen">${label}</legend>
      ${options.map(([one, word]) => html`
        <label>
          <input type="radio" name=${name} value=${one} checked=${one === value} onChange=${() => onChange(one)} />
          <span>${word}</span>
        </label>`)}
    </fieldset>`;
}

/** A button that copies a text and confirms it. */
export function CopyButton({ content }) {
  const [word, setWord] = useState("Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(content);
      setWord("Copied");
    } catch {
      setWord("Select it and copy by hand");
    }
    setTimeout(() => setWord("Copy"), COPIED_MS);
  }
  return html`<button type="button" class="quiet" onClick=${copy}>${word}</button>`;
}

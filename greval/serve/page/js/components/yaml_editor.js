/** A text with line numbers, in which lines with faults are marked. */

import { useId } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";

/** The text of a metric file; `tones` has the tone of a line by its number, and `control` gets the text area. */
export function YamlEditor({ text, tones, control, onInput }) {
  const id = useId();
  const count = text.split("\n").length;
  return html`
    <div class="field">
      <label for=${id}>Metric file (YAML)</label>
      <div class="yaml">
        <ol class="yaml-lines" aria-hidden="true">${Array.from({ length: count }, (_, place) => html`
          <li key=${place} class=${tones.get(place + 1) ?? null}>${place + 1}</li>`)}</ol>
        <textarea id=${id} class="code" rows=${count + 1} wrap="off" spellcheck=${false} autocapitalize="off" value=${text} ref=${control}
          aria-invalid=${[...tones.values()].includes("bad") ? "true" : null} onInput=${({ target }) => onInput(target.value)} />
      </div>
    </div>`;
}

/** Select a line of a text area, and focus it. */
export function selectLine(area, line) {
  const lines = area.value.split("\n");
  const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(begin, begin + (lines[line - 1] ?? "").length);
}

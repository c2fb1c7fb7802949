/** Notes: what a judge returned in addition to its verdict, as texts, tables and shares. */

import { percent } from "../format.js";
import { html } from "../html.js";
import { Text } from "./text.js";

const MAX_ENTRIES = 50;

/** The notes of a judgement; nothing if it has none. */
export function NotesList({ notes }) {
  const entries = Object.entries(notes ?? {}).filter(([, content]) => content !== null && content !== undefined);
  if (!entries.length) return null;
  return html`<dl class="notes">${entries.map(([name, content]) => html`
    <dt>${name.replaceAll("_", " ")}</dt>
    <dd><${Note} content=${content} /></dd>`)}</dl>`;
}

function Note({ content }) {
  if (Array.isArray(content)) return content.length ? html`<${NoteEntries} entries=${content} />` : html`<span class="soft">none</span>`;
  if (typeof content === "object" && "share" in content) return html`<${Share} ...${content} />`;
  if (typeof content === "object") return html`<pre class="block">${JSON.stringify(content, null, 1)}</pre>`;
  return html`<${Text}>${String(content)}<//>`;
}

function Share({ count, of, share }) {
  if (share === null || share === undefined) return html`<span class="soft">none to count</span>`;
  return html`
    <span class="share">
      <span class="meter" aria-hidden="true"><span class="meter-fill" style=${{ width: `${100 * share}%` }} /></span>
      ${`${percent(share)} (${count} of ${of})`}
    </span>`;
}

function NoteEntries({ entries }) {
  const shown = entries.slice(0, MAX_ENTRIES);
  if (entries.some((entry) => typeof entry !== "object" || entry === null)) {
    return html`<ul>${shown.map((entry) => html`<li><${Text}>${String(entry)}<//></li>`)}</ul>`;
  }
  const fields = [...new Set(entries.flatMap(Object.keys))];
  return html`
    <div class="scroll"><table class="small">
      <thead><tr>${fields.map((field) => html`<th scope="col">${field.replaceAll("_", " ")}</th>`)}</tr></thead>
      <tbody>${shown.map((entry) => html`
        <tr>${fields.map((field) => html`<td><${Text}>${String(entry[field] ?? "")}<//></td>`)}</tr>`)}</tbody>
    </table></div>`;
}

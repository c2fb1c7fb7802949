/** The table of the cases of a run: a row for each question, a column for each metric and method. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact_hooks.js";
import { compareCells, findWorstColumn, pairColumns, readCell } from "../case_grid.js";
import { useExcerpts } from "../excerpts.js";
import { html } from "../html.js";
import { useVirtualRows } from "../virtual_rows.js";
import { GridCell } from "./grid_cell.js";

const ROW_HEIGHT = 84; // pixels, as in grid.css
const HEAD_HEIGHT = 56;
const WRITING = "input:not([type=checkbox]):not([type=radio]), textarea, select";
const STEPS = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

/**
 * The table.
 * @param {string} run its id
 * @param {Object} grid of the run
 * @param {Array} columns to show
 * @param {Array} rows the numbers of the rows, in their order
 * @param {Object} sort {columns, reversed, about}; no column for the id, and those of whose metric texts are shown
 * @param {Function} onSort called with {column, reversed}
 * @param {string} current the id of the case that is open beside the table, null for none
 * @param {Function} address returns the address of a case by {sample, column, row}
 * @param {Function} onOpen called with {sample, column, row, step}; `step` is true if the reader goes from case to case
 */
export function CaseTable({ run, grid, columns, rows, sort, onSort, current, address, onOpen }) {
  const place = useRef(null);
  const { items, before, after, scrollTo } = useVirtualRows(place, rows.length, ROW_HEIGHT, HEAD_HEIGHT);
  const { marked, markRow } = useRowKeys({ place, grid, rows, current, onOpen, scrollTo });
  const pairs = new Map(pairColumns(columns));
  const cut = useMemo(() => new Set(grid.cut), [grid]);
  const tabbable = items.includes(marked) ? marked : items[0];
  const about = columns.some((column) => column.place) ? [] : sort.about; // two sides have no room for texts
  const excerpts = useExcerpts(run, grid, about[0]?.metric, items.map((at) => grid.sample_ids[rows[at]]));
  return html`
    <div class="grid-scroll" ref=${place}>
      <table class="grid" aria-rowcount=${rows.length + 1} aria-label="Cases">
        <thead><tr aria-rowindex="1">
          <${SortHead} name="Case" class="grid-id" column=${null} sort=${sort} onSort=${onSort} />
          ${about.length > 0 && html`<th scope="col" class="grid-text"><span class="sort-name">Answer and reason<span class="soft small">of the worst <bdi>${about[0].metric}</bdi></span></span></th>`}
          ${columns.map((column) => html`<${SortHead} key=${keyOf(column)} column=${column} sort=${sort} onSort=${onSort} />`)}
        </tr></thead>
        <tbody>
          <${Gap} height=${before} />
          ${items.map((at) => html`
            <${CaseRow} key=${rows[at]} grid=${grid} cut=${cut} row=${rows[at]} at=${at} columns=${columns} pairs=${pairs} address=${address}
              about=${about} excerpts=${excerpts.get(grid.sample_ids[rows[at]])}
              onOpen=${onOpen} onFocus=${markRow} tabbable=${at === tabbable} current=${grid.sample_ids[rows[at]] === current} />`)}
          <${Gap} height=${after} />
        </tbody>
      </table>
    </div>`;
}

export const keyOf = ({ run, method, metric }) => JSON.stringify([run, method, metric]);

/** Room for rows that are out of sight. */
const Gap = ({ height }) => (height > 0 ? html`<tr aria-hidden="true"><td class="gap" style=${{ height: `${height}px` }} /></tr>` : null);

function SortHead({ name, column, sort, onSort, class: extra = "" }) {
  const [by, ...more] = sort.columns;
  const sorted = column ? Boolean(by) && !more.length && keyOf(by) === keyOf(column) : !by && sort.reversed !== null;
  const order = sorted ? (sort.reversed ? "descending" : "ascending") : null;
  const next = sorted && !sort.reversed ? "best first" : "worst first";
  return html`
    <th scope="col" class=${extra} aria-sort=${order}>
      <button type="button" class="sort" title=${column ? `${next} on click` : null} onClick=${() => onSort({ column, reversed: sorted ? !sort.reversed : false })}>
        <span class="sort-name">
          <span class=${column ? "mono" : ""} dir="auto">${column?.metric ?? name}</span>
          ${column?.label && html`<span class="soft small" dir="auto" title=${column.label}>${column.label}</span>`}
        </span>
        <span class="sort-mark" aria-hidden="true">${order === "ascending" ? "▲" : order === "descending" ? "▼" : ""}</span>
      </button>
    </th>`;
}

function CaseRow({ grid, cut, row, at, columns, pairs, about, excerpts, address, onOpen, onFocus, tabbable, current }) {
  const sample = grid.sample_ids[row];
  const open = (column) => (event) => {
    if (!event.target.closest("a") && !String(getSelection())) onOpen({ sample, column, row });
  };
  return html`
    <tr aria-rowindex=${at + 2} class=${current ? "current" : ""}>
      <th scope="row" class="grid-id" onClick=${open(null)}>
        <a href=${address({ sample, column: null, row })} data-row=${at} tabindex=${tabbable ? 0 : -1} aria-current=${current ? "true" : null} onFocus=${() => onFocus(at)}>
          <span class="mono" dir="auto">${sample || "(no id)"}</span>
          <span class="grid-question" dir="auto">${grid.questions[row]}${cut.has(row) ? "…" : ""}</span>
        </a>
      </th>
      ${about.length > 0 && html`<${ExcerptCell} about=${about} row=${row} excerpts=${excerpts} open=${open} />`}
      ${columns.map((column) => {
        const cell = readCell(column, row);
        const other = pairs.get(column);
        return html`<td key=${keyOf(column)} onClick=${open(column)}>
          <${GridCell} cell=${cell} change=${other && compareCells(cell, readCell(other, row))} />
        </td>`;
      })}
    </tr>`;
}

/** The answer that a row is about, that of the method with the worst result, and the reason of the verdict on it. */
function ExcerptCell({ about, row, excerpts, open }) {
  const column = findWorstColumn(about, row);
  const { answer = "", reason = "" } = excerpts?.find(({ method }) => method === column.method) ?? {};
  return html`
    <td class="grid-text" onClick=${open(column)}>
      <span class="grid-answer" dir="auto">${about.length > 1 && column.method && html`<bdi class="soft">${column.method}: </bdi>`}${answer}</span>
      <span class="grid-answer soft small" dir="auto">${reason}</span>
    </td>`;
}

/**
 * Go from row to row by keys; the link of the marked row has the focus, or its case is open beside the table. Keys come
 * faster than rows are drawn, so the place is known at once.
 */
function useRowKeys({ place, grid, rows, current, onOpen, scrollTo }) {
  const [marked, setMarked] = useState(0);
  const at = useRef(null);
  const wanted = useRef(null);
  const latest = useRef(null);
  const open = current === null ? -1 : rows.findIndex((row) => grid.sample_ids[row] === current);
  const mark = (index) => {
    at.current = index;
    setMarked(index);
  };
  latest.current = { grid, rows, open, onOpen, scrollTo };
  useLayoutEffect(() => {
    if (open < 0) return;
    mark(open);
    scrollTo(open);
  }, [open]);
  useEffect(() => {
    function step(event) {
      const inTable = place.current.contains(event.target);
      if (!isStep(event, inTable) || !latest.current.rows.length) return;
      event.preventDefault();
      const last = latest.current.rows.length - 1;
      const next = at.current === null ? 0 : Math.min(last, Math.max(0, at.current + STEPS[event.key]));
      mark(next);
      latest.current.scrollTo(next);
      if (latest.current.open < 0 || inTable) wanted.current = next;
      if (latest.current.open >= 0) openRow(latest.current, next);
    }
    addEventListener("keydown", step);
    return () => removeEventListener("keydown", step);
  }, []);
  useLayoutEffect(() => {
    const link = wanted.current === null ? null : place.current.querySelector(`[data-row="${wanted.current}"]`);
    if (!link) return;
    wanted.current = null;
    link.focus({ preventScroll: true });
  });
  return { marked, markRow: mark };
}

const openRow = ({ grid, rows, onOpen }, at) =>
  onOpen({ sample: grid.sample_ids[rows[at]], column: null, row: rows[at], step: true });

/** Return whether a key goes to another row: letters anywhere but in fields, arrows in the table. */
function isStep({ key, target, ctrlKey, metaKey, altKey }, inTable) {
  if (ctrlKey || metaKey || altKey || !Object.hasOwn(STEPS, key)) return false;
  if (target.matches?.(WRITING) || document.querySelector("dialog[open]")) return false;
  return inTable || !key.startsWith("Arrow");
}

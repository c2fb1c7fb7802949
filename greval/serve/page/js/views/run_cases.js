/** The cases of a run as a grid to sort, filter and search; a case opens beside it. */

import { useEffect, useLayoutEffect, useMemo, useState } from "../../vendor/preact_hooks.js";
import { get, name as part } from "../api.js";
import { filterRows, findColumn, findWorstColumn, listColumns, pairColumns, sortByDifference, sortRows } from "../case_grid.js";
import { CaseFilters } from "../components/case_filters.js";
import { CasePane } from "../components/case_pane.js";
import { CaseTable } from "../components/case_table.js";
import { GridDifferences } from "../components/grid_differences.js";
import { EmptyState, Problem } from "../components/notices.js";
import { count, counted } from "../format.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { keepChosen } from "../rejudging.js";
import { at, go } from "../router.js";

const NAMES = ["metric", "method", "status", "value", "tag", "q", "beside", "change", "sort", "of", "side", "order", "case", "answer"];
const SEARCH_MS = 20; // what somebody types on cancels the search before
const MAX_RUNS = 100;

/** The cases of a run; they are requested again when `version` changes. */
export function RunCases({ run: { id, dataset, status, metrics }, query, version }) {
  const { data: grid, error, reload } = useRequest((signal) => get(`/v1/runs/${part(id)}/grid`, {}, signal), [id, version]);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!grid) return html`<${Reading} />`;
  if (!grid.sample_ids.length) return html`<${EmptyState} title="No case yet.">They appear here as they are judged.<//>`;
  return html`<${CaseBrowser} run=${id} grid=${grid} query=${query} again=${isEnded(status) && dataset ? metrics : null} />`;
}

const Reading = () => html`<div class="grid-scroll"><${EmptyState} title="Reading the cases…" busy /></div>`;

/** The filters, the table, and the case that is open. */
function CaseBrowser({ run, grid, query, again }) {
  const [filters, setFilters] = useState(() => readFilters(query));
  useLayoutEffect(() => setFilters(readFilters(query)), [String(query)]);
  const { sides, error, loading, others } = useSides(run, grid, filters);
  const found = useTextSearch(run, filters.q);
  const columns = useMemo(() => listColumns(sides, filters.metric), [sides, filters.metric]);
  const sort = useMemo(() => findSort(grid, columns, filters), [grid, columns, filters.sort, filters.of, filters.side, filters.order]);
  const { status, value, tag, change, q } = filters;
  const fitting = useMemo(() => filterRows(grid, columns, { status, value, tag, change, q }, found.ids),
    [grid, columns, status, value, tag, change, q, found.ids]);
  const rows = useMemo(
    () => (sort.pair ? sortByDifference(fitting, sort.pair, sort.gainsFirst) : sortRows(grid, fitting, sort.columns, sort.reversed)),
    [fitting, sort],
  );
  const address = (difference) => at(["runs", run], { tab: "cases", ...filters, ...difference });
  function update(difference) {
    setFilters({ ...filters, ...difference });
    go(address(difference), { replace: true });
  }
  const openCase = ({ sample, column, row }) =>
    ({ case: sample, answer: (column ?? findColumn(columns, row, filters) ?? findWorstColumn(sort.about, row))?.method ?? null });
  const all = counted(grid.sample_ids.length, "case");
  const none = html`<a href=${at(["runs", run], { tab: "cases" })}>see all cases</a>`;
  useCloseKey(filters.case !== null, address({ case: null, answer: null }));
  if (loading) return html`<${Reading} />`;
  return html`
    <div class=${filters.case === null ? "cases" : "cases has-case"}>
      <section class="cases-list" aria-label="Cases of the run">
        <${CaseFilters} grid=${grid} columns=${columns} filters=${filters} others=${others} onChange=${update} />
        ${error && html`<${Problem} error=${error} />`}
        ${sides.length === 2 && sides[1].grid !== grid && html`<${GridDifferences} grid=${grid} other=${sides[1]} />`}
        <div class="cases-line small">
          <p class="soft" role="status">
            ${[rows.length === grid.sample_ids.length ? all : `${count(rows.length)} of ${all}`, describeSort(sort), found.busy && "searching answers and reasons…"].filter(Boolean).join(" · ")}
          </p>
          ${again && rows.length > 0 && html`<${JudgeAgain} run=${run} grid=${grid} rows=${rows} metrics=${filters.metric ? [filters.metric] : again} />`}
        </div>
        ${rows.length > 0
          ? html`<${CaseTable} run=${run} grid=${grid} columns=${columns} rows=${rows} sort=${sort} current=${filters.case}
              onSort=${(wanted) => update(writeSort(wanted))} address=${(one) => address(openCase(one))}
              onOpen=${(one) => (one.step ? update(openCase(one)) : go(address(openCase(one))))} />`
          : html`<${EmptyState} title="No case fits.">Choose other filters, or ${none}.<//>`}
      </section>
      ${filters.case !== null && html`
        <${CasePane} grid=${grid} columns=${columns} sides=${sides} sample=${filters.case} method=${filters.answer ?? filters.method} rows=${rows}
          back=${address({ case: null, answer: null })} onChange=${update} />`}
    </div>`;
}

const isEnded = (status) => status !== undefined && status !== "queued" && status !== "running";

/** The way to a new run of the questions that are listed. */
const JudgeAgain = ({ run, grid, rows, metrics }) => html`
  <p>
    <a href=${at("new-run", { again: run, of: "chosen", metric: metrics })} onClick=${() => keepChosen(run, rows.map((row) => grid.sample_ids[row]))}>
      Judge ${rows.length === grid.sample_ids.length ? "all" : counted(rows.length, "case")} again in a new run</a>
  </p>`;

const readFilters = (query) => Object.fromEntries(NAMES.map((name) => [name, query.get(name)]));

/**
 * Return the order: by how a metric differs between two sides, by the worst result in `columns`, or by id if there are
 * none; and `about`, the columns of whose metric answers and reasons are shown. Without an order in the address, the
 * worst of the first judged metric come first.
 */
function findSort(grid, columns, { sort, of, side, order }) {
  const usual = (grid.metrics.find(({ name, definition }) => definition && columns.some(({ metric }) => metric === name)) ?? columns[0]?.about)?.name;
  const fits = (column) => column.metric === sort && (of === null || column.method === of) && String(column.place) === (side ?? "0");
  const chosen = columns.filter(fits);
  const about = chosen.length ? chosen : columns.filter(({ metric, place }) => metric === usual && place === 0);
  const pair = order === "loss" || order === "gain" ? pairColumns(columns).find(([{ metric }]) => metric === sort) : null;
  if (pair) return { about, columns: [], reversed: null, pair, gainsFirst: order === "gain" };
  if (chosen.length) return { about, columns: chosen, reversed: order === "best" };
  if (order === "id" || order === "id-down") return { about, columns: [], reversed: order === "id-down" };
  return { about, columns: about, reversed: about.length ? false : null };
}

function writeSort({ column, reversed }) {
  if (!column) return { sort: null, of: null, side: null, order: reversed ? "id-down" : "id" };
  return { sort: column.metric, of: column.method, side: column.place ? String(column.place) : null, order: reversed ? "best" : null };
}

/** Describe an order by the worst results; the columns show any other. */
const describeSort = ({ columns, reversed }) => columns.length > 0
  && `${reversed ? "best" : "worst"} ${columns[0].metric} first${columns.length > 1 ? ", over all methods" : ""}`;

/** Return the sides to show: the run alone, or beside another of its methods or another run. */
function useSides(run, grid, { method, beside }) {
  const [kind, name] = splitOnce(beside ?? "");
  const other = useRequest(async (signal) => (kind === "run" ? get(`/v1/runs/${part(name)}/grid`, {}, signal) : null), [kind, name]);
  const { data: list } = useRequest((signal) => get("/v1/runs", { limit: MAX_RUNS }, signal), []);
  const sides = useMemo(() => {
    const own = method ?? (beside ? (grid.methods.find((one) => kind !== "method" || one !== name) ?? null) : null);
    const label = grid.methods.length > 1 && own === null ? null : own;
    const first = { run, grid, method: own, label };
    if (kind === "method") return [first, { run, grid, method: name, label: name || "(none)" }];
    if (kind !== "run" || !other.data) return [first];
    const answered = other.data.methods.includes(own) ? own : (other.data.methods[0] ?? null);
    const title = nameRun(list?.runs.find(({ id }) => id === name), name);
    return [
      { ...first, label: "this run" },
      { run: name, grid: other.data, method: answered, label: answered === own || !answered ? title : `${title}, ${answered}` },
    ];
  }, [run, grid, method, beside, other.data, list]);
  const others = [
    ...(grid.methods.length > 1 ? grid.methods.map((one) => [`method:${one}`, `method ${one || "(none)"}`]) : []),
    ...(list?.runs ?? []).filter(({ id, kind: what }) => id !== run && what !== "alignment").map((one) => [`run:${one.id}`, `run ${nameRun(one, one.id)}`]),
  ];
  return { sides, error: other.error, loading: kind === "run" && !other.data && !other.error, others };
}

const nameRun = (run, id) => run?.name || id;

function splitOnce(text) {
  const end = text.indexOf(":");
  return [text.slice(0, Math.max(0, end)), text.slice(end + 1)];
}

/** Search the full texts on the server once nothing is typed for a moment; {ids, busy}. */
function useTextSearch(run, q) {
  const [state, setState] = useState({ q: null, ids: null });
  useEffect(() => {
    if (!q?.trim()) return setState({ q, ids: null });
    const controller = new AbortController();
    const timer = setTimeout(() => {
      get(`/v1/runs/${part(run)}/search`, { q }, controller.signal).then(
        ({ sample_ids: ids }) => setState({ q, ids: new Set(ids) }),
        () => controller.signal.aborted || setState({ q, ids: null }),
      );
    }, SEARCH_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [run, q]);
  return { ids: state.q === q ? state.ids : null, busy: Boolean(q?.trim()) && state.q !== q };
}

/** Close the case by Escape, unless something is being written. */
function useCloseKey(open, back) {
  useEffect(() => {
    const close = ({ key, target }) => {
      if (open && key === "Escape" && !target.matches?.("input, textarea, select") && !document.querySelector("dialog[open]")) go(back);
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [open, back]);
}

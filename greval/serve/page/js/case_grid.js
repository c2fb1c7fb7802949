/** The grid of a run as it is shown: its columns, the rows that fit filters, and their order. */

export const NO_RESULT = -1;
const NAMES = new Intl.Collator("en", { numeric: true });
/** What stands last in any order: failed, skipped, without a result. */
const LAST = { failed: 1, skipped: 2, none: 3 };
const CHANGES = { won: ["won"], lost: ["lost"], changed: ["won", "lost", "changed"] };
const MAX_VALUES = 24;

/**
 * Return the columns of a grid, those of a metric beside each other.
 * @param {Array} sides {run, grid, method, label} of each side; without a method, all of its methods with their names
 * @param {string} metric the only metric, null for all
 */
export function listColumns(sides, metric) {
  const [{ grid }] = sides;
  const found = sides.map((side, place) => ({ ...side, place, cells: alignCells(grid, side.grid), isAbsent: findAbsent(grid, side.grid) }));
  return grid.metrics.filter(({ name }) => metric === null || name === metric).flatMap((about) =>
    found.flatMap(({ run, method, label, place, grid: own, cells, isAbsent }) =>
      own.columns.filter((column) => column.metric === about.name && (method === null || column.method === method))
        .map((column) => ({ ...column, about, run, place, isAbsent, label: label ?? column.method, cells: cells(column.cells) }))));
}

/** Return a test whether another run does not have the question of a row at all. */
function findAbsent(grid, other) {
  const ids = grid === other ? null : new Set(other.sample_ids);
  return (row) => ids !== null && !ids.has(grid.sample_ids[row]);
}

/** Return a function that brings the cells of another run into the order of the rows of the first. */
function alignCells(grid, other) {
  if (grid === other) return (cells) => cells;
  const places = new Map(other.sample_ids.map((id, place) => [id, place]));
  const order = grid.sample_ids.map((id) => places.get(id));
  return (cells) => order.map((place) => (place === undefined ? NO_RESULT : cells[place]));
}

/** Return what a cell holds: status, text, rank, tone, values, note; the status is "none" if there is no result. */
export function readCell({ cells, statuses, texts, ranks, tones, values, notes, isAbsent }, row) {
  const at = cells[row];
  if (at === NO_RESULT) return { status: "none", text: isAbsent(row) ? "no such question" : "", rank: null, tone: null, values: {}, note: "" };
  return { status: statuses[at], text: texts[at], rank: ranks[at], tone: tones[at], values: values[at], note: notes[at] };
}

/**
 * Return how a cell differs from the one that it is compared with: "won", "lost", "changed", or "" if it does not, or if
 * one of them has no result.
 */
export function compareCells(own, other) {
  if (own.status === "none" || other.status === "none") return "";
  if (own.rank !== null && other.rank !== null) return own.rank === other.rank ? "" : own.rank > other.rank ? "won" : "lost";
  return own.status === other.status && own.text === other.text ? "" : "changed";
}

/** Return the pairs of columns of a comparison: each of the first side with that of the same metric on the second. */
export const pairColumns = (columns) => columns.filter(({ place }) => place === 0).flatMap((column) => {
  const other = columns.find(({ place, metric }) => place === 1 && metric === column.metric);
  return other ? [[column, other]] : [];
});

/**
 * Return the numbers of the rows that fit the filters.
 * @param {Object} grid of the run
 * @param {Array} columns that are shown
 * @param {Object} filters {status, value, tag, change, q}
 * @param {Set} found the ids that a search in the full texts found, null if there was none
 */
export function filterRows(grid, columns, { status, value, tag, change, q }, found) {
  const tests = [
    (status || value) && testResult(columns, status, value),
    tag && testTag(grid.tags, tag),
    change && testChange(columns, CHANGES[change] ?? []),
    q && testWords(grid, q, found),
  ].filter(Boolean);
  return grid.sample_ids.map((_, row) => row).filter((row) => tests.every((test) => test(row)));
}

/** Return a test whether some cell of a row has a status and a value. */
const testResult = (columns, status, value) => (row) => columns.some((column) => fitsResult(column, row, status, value));

const fitsResult = ({ cells, statuses, values }, row, status, value) => {
  const at = cells[row];
  return at !== NO_RESULT && (!status || statuses[at] === status) && (!value || Object.hasOwn(values[at], value));
};

/** Return the column because of which a row fits the filters, undefined if it is not for a status or a value. */
export const findColumn = (columns, row, { status, value }) =>
  ((status || value) ? columns.find((column) => fitsResult(column, row, status, value)) : undefined);

function testTag(tags, wanted) {
  const tag = findTag(tags, wanted);
  const end = wanted.indexOf(":");
  if (tag && end === wanted.length - 1 && !tag.values.includes("")) return () => true; // the value is not chosen yet
  const number = tag ? tag.values.indexOf(wanted.slice(end + 1)) : NO_RESULT;
  return (row) => number !== NO_RESULT && tag.cells[row] === number;
}

/** Return the tag of a filter `name:value`. */
export const findTag = (tags, wanted) => tags.find(({ name }) => wanted?.startsWith(`${name}:`));

function testChange(columns, wanted) {
  const pairs = pairColumns(columns);
  return (row) => pairs.some(([own, other]) => wanted.includes(compareCells(readCell(own, row), readCell(other, row))));
}

function testWords(grid, q, found) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return (row) => {
    if (found?.has(grid.sample_ids[row])) return true;
    const text = `${grid.sample_ids[row]} ${grid.questions[row]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** Return the column in which a row has its worst result: the lowest rank, else a failure, a skip, or none. */
export const findWorstColumn = (columns, row) => columns.toSorted((a, b) => compareResults(readCell(a, row), readCell(b, row)))[0];

/** Compare two cells, the worse first; those without a value are last, failed ones before skipped ones. */
function compareResults(own, other, sign = 1) {
  const last = ({ status }) => LAST[status] ?? 0;
  if (last(own) !== last(other)) return last(own) - last(other);
  if (own.rank !== null && other.rank !== null) return sign * (own.rank - other.rank);
  if ((own.rank === null) !== (other.rank === null)) return own.rank === null ? 1 : -1;
  return sign * NAMES.compare(own.text, other.text);
}

/**
 * Return rows in order: by the worst result of each in some columns, the worst first, or by the id if there are none.
 * Equal ones stay in the order of the run.
 */
export function sortRows(grid, rows, columns, reversed) {
  const sign = reversed ? -1 : 1;
  if (!columns.length) return reversed === null ? rows : rows.toSorted((a, b) => sign * NAMES.compare(grid.sample_ids[a], grid.sample_ids[b]));
  const keys = new Map(rows.map((row) => [row, readCell(findWorstColumn(columns, row), row)]));
  return rows.toSorted((a, b) => compareResults(keys.get(a), keys.get(b), sign) || a - b);
}

/** Return rows in the order of how much a cell differs from its pair: the largest loss first, or the largest gain. */
export function sortByDifference(rows, [column, other], gainsFirst) {
  const sign = gainsFirst ? -1 : 1;
  const differences = new Map(rows.map((row) => [row, computeDifference(readCell(column, row), readCell(other, row))]));
  return rows.toSorted((a, b) => {
    const [own, next] = [differences.get(a), differences.get(b)];
    if (own === null || next === null) return Number(own === null) - Number(next === null) || a - b;
    return sign * (own - next) || a - b;
  });
}

const computeDifference = (own, other) => (own.rank === null || other.rank === null ? null : own.rank - other.rank);

/** Return what two grids do not share: the samples of each alone, and the metrics whose definitions differ. */
export function listDifferences(grid, other) {
  const [own, others] = [new Set(grid.sample_ids), new Set(other.sample_ids)];
  const definitions = new Map(other.metrics.map(({ name, definition }) => [name, definition]));
  return {
    own: grid.sample_ids.filter((id) => !others.has(id)),
    other: other.sample_ids.filter((id) => !own.has(id)),
    metrics: grid.metrics.filter(({ name, definition }) => definition && definitions.get(name) && definitions.get(name) !== definition)
      .map(({ name }) => name),
  };
}

/** Return the values that occur in columns, those of a scale in its order; null if there are too many to choose from. */
export function listValues(columns) {
  const known = columns.flatMap(({ about }) => about.values);
  const given = columns.flatMap(({ values }) => values.flatMap(Object.keys));
  const found = [...new Set([...known, ...[...new Set(given)].sort(NAMES.compare)])];
  return found.length <= MAX_VALUES ? found : null;
}

/** Return the options of a filter by a tag: each value, or of a tag with too many values to list, `name:` alone. */
export const listTags = (grid) => grid.tags.flatMap(({ name, values }) =>
  (values.length <= MAX_VALUES ? values.map((value) => [`${name}:${value}`, `${name}:${value}`]) : [[`${name}:`, `${name}: one of ${values.length}…`]]));

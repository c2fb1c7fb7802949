/** The content of a metric file as fields of a form, and back; what the form cannot show is left alone. */

import { get } from "./api.js";

export const FIELDS = ["name", "description", "over", "needs", "scale", "steps", "instructions", "notes", "pass", "examples", "judge"];
export const INPUTS = ["question", "answer", "expected_answer", "chunks", "triples", "context", "traversal"];
const ITEM_FIELDS = ["chunks", "triples", "claims", "expected_claims"];
const OF_JUDGES = ["needs", "scale", "steps", "instructions", "notes", "examples", "judge"];
const TEXTS = ["name", "description", "instructions", "pass"];
export const EXAMPLE_TEXTS = ["question", "answer", "expected_answer"];
const EMPTY_CATEGORIES = [{ name: "", means: "", score: "1" }, { name: "", means: "", score: "0" }];
const WHOLE = /^(0|-?[1-9]\d*)$/;
const MOST_LEVELS = 30;

const isText = (value) => typeof value === "string";
const isMapping = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Return the fields of a form that shows the content; `hidden` are the parts that only the file has. A metric with a
 * formula has no field that only judges read.
 */
export function readContent(content) {
  const hidden = Object.keys(content).filter((key) => !FIELDS.includes(key));
  const fields = { ...readTexts(content, hidden), hidden };
  fields.over = readPart(content, "over", null, (value) => ITEM_FIELDS.includes(value) && value, hidden);
  fields.needs = readPart(content, "needs", [], (value) => Array.isArray(value) && value.every(isText) && value, hidden);
  fields.steps = readPart(content, "steps", [""], (value) => Array.isArray(value) && value.every(isText) && value, hidden);
  fields.judge = readPart(content, "judge", "", (value) => isText(value) && value, hidden);
  fields.examples = readPart(content, "examples", [], readExamples, hidden);
  fields.notes = readPart(content, "notes", [], readNotes, hidden);
  fields.scale = readPart(content, "scale", newScale("categories"), readScale, hidden);
  return "formula" in content ? { ...fields, ...Object.fromEntries(OF_JUDGES.map((key) => [key, null])) } : fields;
}

function readTexts(content, hidden) {
  return Object.fromEntries(TEXTS.map((key) => [key, readPart(content, key, "", (value) => isText(value) && value, hidden)]));
}

/** Return a part as `read` gives it, `absent` if it is not there, or null if it cannot be shown, which is noted. */
function readPart(content, key, absent, read, hidden) {
  if (content[key] === undefined || content[key] === null) return absent;
  const found = read(content[key]);
  if (found || found === "") return found;
  hidden.push(key);
  return null;
}

const readNotes = (notes) =>
  isMapping(notes) && Object.values(notes).every(isText) && Object.entries(notes).map(([name, means]) => ({ name, means }));

/** Return examples as rows; null if one of them has more than texts, a value, a reason and notes. */
function readExamples(examples) {
  const rows = Array.isArray(examples) ? examples.map(readExample) : [null];
  return rows.every(Boolean) && rows;
}

function readExample(example) {
  if (!isMapping(example) || !isMapping(example.case) || !isText(example.reason)) return null;
  if (!Object.keys(example).every((key) => ["case", "value", "reason", "notes"].includes(key))) return null;
  const { case: given, value, reason, notes = {} } = example;
  if (!Object.entries(given).every(([key, text]) => EXAMPLE_TEXTS.includes(key) && isText(text))) return null;
  if (!isText(value) && typeof value !== "number") return null;
  if (!isMapping(notes) || !Object.values(notes).every(isText)) return null;
  return { ...newExample(), ...given, value: String(value), reason, notes };
}

/** Return an empty example. */
export const newExample = () => ({ ...Object.fromEntries(EXAMPLE_TEXTS.map((key) => [key, ""])), value: "", reason: "", notes: {} });

/** Return an empty scale of a kind. */
export const newScale = (kind) =>
  kind === "categories"
    ? { kind, categories: structuredClone(EMPTY_CATEGORIES), ordered: true }
    : { kind, low: "1", high: "5", better: "higher", levels: {} };

function readScale(scale) {
  if (!isMapping(scale)) return null;
  const keys = Object.keys(scale);
  if (isMapping(scale.categories) && keys.every((key) => ["categories", "ordered"].includes(key))) {
    const categories = Object.entries(scale.categories).map(readCategory);
    return categories.every(Boolean) && { kind: "categories", categories, ordered: scale.ordered !== false };
  }
  const known = keys.every((key) => ["range", "levels", "better"].includes(key));
  const range = Array.isArray(scale.range) && scale.range.length === 2 && scale.range.every(Number.isInteger) && scale.range;
  const levels = scale.levels ?? {};
  if (!known || !range || range[1] - range[0] > MOST_LEVELS || !isMapping(levels) || !Object.values(levels).every(isText)) return null;
  return { kind: "range", low: String(range[0]), high: String(range[1]), better: scale.better ?? "", levels: { ...levels } };
}

/** Return a category as a row; null if its name would change the order of a JavaScript object, or it holds more. */
function readCategory([name, given]) {
  if (WHOLE.test(name)) return null;
  if (given === null || isText(given)) return { name, means: given ?? "", score: "" };
  if (!isMapping(given) || !Object.keys(given).every((key) => ["means", "score"].includes(key))) return null;
  const { means = "", score = null } = given;
  if (!isText(means ?? "") || !(score === null || typeof score === "number")) return null;
  return { name, means: means ?? "", score: score === null ? "" : String(score) };
}

/** Return the values of a scale's range that can be described, lowest first. */
export function listLevels({ low, high }) {
  const [first, last] = [Number(low), Number(high)];
  if (!WHOLE.test(low) || !WHOLE.test(high) || last <= first || last - first > MOST_LEVELS) return [];
  return Array.from({ length: last - first + 1 }, (_, place) => String(first + place));
}

/** Return what the file says for a field of the form; null leaves the field out. */
export function writeField(key, fields) {
  const value = fields[key];
  switch (key) {
    case "needs":
      return value.length ? value : null;
    case "steps":
      return value.filter((step) => step.trim()).length ? value.filter((step) => step.trim()) : null;
    case "notes": {
      const rows = value.filter(({ name }) => name.trim());
      return rows.length ? Object.fromEntries(rows.map(({ name, means }) => [name.trim(), means])) : null;
    }
    case "examples":
      return value.length ? value.map((row) => writeExample(row, fields.scale)) : null;
    case "scale":
      return writeScale(value);
    case "name":
      return value.trim() || null;
    default:
      return value || null;
  }
}

function writeExample({ value, reason, notes, ...texts }, scale) {
  const isNumber = scale?.kind === "range" && value.trim() !== "" && Number.isFinite(Number(value));
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim()));
  const written = Object.entries(notes).filter(([, text]) => text.trim());
  return {
    case: given, value: isNumber ? Number(value) : value.trim(), reason,
    ...(written.length && { notes: Object.fromEntries(written) }),
  };
}

function writeScale(scale) {
  if (scale.kind === "range") {
    const levels = Object.fromEntries(listLevels(scale).filter((level) => scale.levels[level]?.trim()).map((level) => [level, scale.levels[level]]));
    const ends = [scale.low, scale.high].map((end) => (WHOLE.test(end) ? Number(end) : end));
    return { range: ends, ...(scale.better ? { better: scale.better } : {}), levels };
  }
  const rows = scale.categories.filter(({ name }) => name.trim());
  if (!rows.length) return null;
  const categories = Object.fromEntries(rows.map(({ name, means, score }) =>
    [name.trim(), score.trim() === "" ? means : { means, score: Number.isFinite(Number(score)) ? Number(score) : score }]));
  return { categories, ...(scale.ordered ? {} : { ordered: false }) };
}

/** Return what is wrong with fields that could not be written as they are, as one sentence; null if nothing is. */
export function findFormFault({ scale, notes }) {
  const names = scale?.kind === "categories" ? scale.categories.map(({ name }) => name.trim()).filter(Boolean) : [];
  if (new Set(names).size < names.length) return "Two categories have the same name; give each its own.";
  if (names.some((name) => WHOLE.test(name))) return "A category is named by a number; use words, or a range.";
  const notesNamed = (notes ?? []).map(({ name }) => name.trim()).filter(Boolean);
  return new Set(notesNamed).size < notesNamed.length ? "Two notes have the same name; give each its own." : null;
}

/** Return what a list of metrics says of one that is not saved, for showing its verdicts. */
export function describeContent({ name, over = null, needs = [], scale = {}, preference = false }) {
  const categories = isMapping(scale?.categories) && Object.fromEntries(Object.entries(scale.categories).map(([category, given]) =>
    [category, isMapping(given) ? given : { means: given, score: null }]));
  return {
    name, over, kind: "judged", optional: [], preference: preference === true,
    needs: Array.isArray(needs) ? needs.filter(isText) : [],
    scale: categories ? { ...scale, categories } : scale,
  };
}

const KEY = "greval.metric.";

/** Return the draft of a metric that this tab keeps, or null. */
export function readDraft(name) {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY + name));
    return isText(found?.text) ? found : null;
  } catch {
    return null;
  }
}

/** Keep the draft of a metric in this tab; null forgets it. A full or blocked storage is no error. */
export function keepDraft(name, draft) {
  try {
    if (draft) sessionStorage.setItem(KEY + name, JSON.stringify(draft));
    else sessionStorage.removeItem(KEY + name);
  } catch {
    // the draft lasts as long as the page then
  }
}

/** Return the line of a message or fault such as `yaml:3: scale`, and the rest of it. */
export function splitLine(message) {
  const [, line, rest] = /^yaml:(\d+)(?:: )?([^]*)$/.exec(message) ?? [null, null, message];
  return { line: line ? Number(line) : null, text: rest };
}

/** Return the name under which a copy of a metric can be saved. */
export async function findFreeName(name, signal) {
  const { metrics } = await get("/v1/metrics", {}, signal);
  const taken = new Set(metrics.map((metric) => metric.name.toLowerCase()));
  for (let number = 2; ; number += 1) if (!taken.has(`${name}_${number}`.toLowerCase())) return `${name}_${number}`;
}

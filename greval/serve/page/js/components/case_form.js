/** A case to fill in: just the fields that the chosen metrics need, or the case as JSON. */

import { useImperativeHandle, useRef, useState } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";
import { FormError, formatObject, parseObject } from "../json_text.js";
import { OTHER, flattenPair, unflattenPair } from "../response_pair.js";
import { Field, SegmentedControl } from "./fields.js";
import { RowsField, filledRows } from "./rows_field.js";

const TEXTS = { question: "Question", answer: "Answer", expected_answer: "Expected answer" };
const ROWS = { claims: "Claims", expected_claims: "Expected claims", chunks: "Chunks", triples: "Triples" };
const CLAIM_SOURCES = { claims: "answer", expected_claims: "expected_answer" };
const OBJECTS = {
  traversal: ["Walk (JSON)", "start_nodes, traversed_edges as [source, label, target], final_nodes"],
  gold: [
    "Gold (JSON)",
    "essential_docs, helpful_docs, essential_repos, expected_edges, expected_nodes, start_nodes, answers",
  ],
  usage: ["Spent by the method (JSON)", "latency, waited, llm_calls, prompt_tokens, output_tokens, cost"],
};
/** Fields of a response, of which a preference needs those of both. */
const OF_RESPONSE = ["answer", "chunks", "triples", "traversal", "usage"];
const MODES = [["form", "Form"], ["json", "JSON"]];
const WHOLE = "whole"; // the field of the case as JSON
const TAG = "tags.";
const CLAIMS_HINT = "Leave them empty to have the judge list them.";
const HINT = "Fields of other tools, such as user_input and retrieved_contexts, are read too.";

/** Return the fields that some metrics need, in the order in which one fills them in; the question is always one. */
export function fieldsFor(metrics) {
  const needed = new Set(["question", ...metrics.flatMap(({ needs, optional }) => [...needs, ...(optional ?? [])])]);
  for (const [claims, source] of Object.entries(CLAIM_SOURCES)) if (needed.has(claims)) needed.add(source);
  if (needed.has("context")) for (const name of ["chunks", "triples"]) needed.add(name);
  const plain = [...Object.keys(TEXTS), ...Object.keys(ROWS), ...Object.keys(OBJECTS)].filter((name) => needed.has(name));
  return [...plain, ...otherFieldsFor(metrics), ...[...needed].filter((name) => name.startsWith(TAG))];
}

/** Return the fields of the other response that some metrics need. */
function otherFieldsFor(metrics) {
  const needed = new Set(metrics.filter(({ preference }) => preference).flatMap(({ needs }) => needs));
  if (needed.has("context")) for (const name of ["chunks", "triples"]) needed.add(name);
  return OF_RESPONSE.filter((name) => needed.has(name)).map((name) => OTHER + name);
}

/** Return the name of a field as that of a response of its own. */
const baseOf = (name) => (name.startsWith(OTHER) ? name.slice(OTHER.length) : name);
/** Return what stands behind the label of a field of the other response. */
const ofOther = (name) => (name.startsWith(OTHER) ? " B" : "");

/** Return the case that is filled in, without what is empty; throws FormError if a field cannot be read. */
function readForm({ mode, content, texts }, names) {
  if (mode === "json") return parseObject(texts[WHOLE], "The case", WHOLE);
  const found = { ...content };
  for (const name of names) {
    if (baseOf(name) in TEXTS && !found[name]?.trim()) delete found[name];
    if (baseOf(name) in OBJECTS && name in texts) {
      if (texts[name].trim()) found[name] = parseObject(texts[name], OBJECTS[baseOf(name)][0] + ofOther(name), name);
      else delete found[name];
    }
  }
  for (const name of Object.keys(ROWS).flatMap((kind) => [kind, OTHER + kind])) {
    const rows = filledRows(baseOf(name), found[name]);
    if (rows.length) found[name] = rows;
    else delete found[name];
  }
  const tags = Object.entries(found.tags ?? {}).filter(([, value]) => value !== "");
  if (tags.length) found.tags = Object.fromEntries(tags);
  else delete found.tags;
  return unflattenPair(found);
}

/** Return the state of a form that shows a case. */
function showCase(mode, content) {
  return { mode, content: flattenPair(content), texts: mode === "json" ? { [WHOLE]: formatObject(content) } : {} };
}

/**
 * The form of a case; it keeps what it does not show.
 * `handle` gets `read()`, which returns the case or throws FormError and focuses the wrong field, and `fill(content)`.
 */
export function CaseForm({ metrics, handle }) {
  const [form, setForm] = useState(() => showCase("form", {}));
  const [wrong, setWrong] = useState(null);
  const controls = useRef({});
  const names = fieldsFor(metrics);
  useImperativeHandle(handle, () => ({
    fill: (content) => setForm(showCase(form.mode, content)),
    read() {
      try {
        setWrong(null);
        return readForm(form, names);
      } catch (error) {
        setWrong(error.field);
        controls.current[error.field]?.focus();
        throw error;
      }
    },
  }));
  function changeMode(mode) {
    try {
      setForm(showCase(mode, readForm(form, names)));
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      setWrong(error.field);
      setForm({ ...form }); // the control shows again which mode it is
    }
  }
  const changeContent = (change) => setForm({ ...form, content: { ...form.content, ...change } });
  const changeText = (name, value) => setForm({ ...form, texts: { ...form.texts, [name]: value } });
  const codeArea = (name, rows, value) => html`
    <textarea class="code" rows=${rows} spellcheck=${false} value=${value} aria-invalid=${wrong === name ? "true" : null}
      ref=${(element) => {
        controls.current[name] = element;
      }} onInput=${({ target }) => changeText(name, target.value)} />`;

  function renderField(name) {
    const { content, texts } = form;
    const base = baseOf(name);
    if (base in ROWS) {
      return html`<${RowsField} key=${name} kind=${base} label=${ROWS[base]} suffix=${ofOther(name)} hint=${base in CLAIM_SOURCES && CLAIMS_HINT}
        rows=${content[name]} onChange=${(rows) => changeContent({ [name]: rows })} />`;
    }
    if (base in OBJECTS) {
      const label = OBJECTS[base][0] + ofOther(name);
      const hint = OBJECTS[base][1];
      const value = texts[name] ?? (content[name] ? formatObject(content[name]) : "");
      return html`<${Field} key=${name} label=${label} hint=${hint}>${codeArea(name, 4, value)}<//>`;
    }
    if (name.startsWith(TAG)) {
      const tag = name.slice(TAG.length);
      return html`<${Field} key=${name} label=${`Tag ${tag}`}>
        <input type="text" dir="auto" value=${content.tags?.[tag] ?? ""}
          onInput=${({ target }) => changeContent({ tags: { ...content.tags, [tag]: target.value } })} /><//>`;
    }
    return html`<${Field} key=${name} label=${TEXTS[base] + ofOther(name)}>
      <textarea rows=${base === "answer" ? 3 : 2} dir="auto" value=${content[name] ?? ""}
        onInput=${({ target }) => changeContent({ [name]: target.value })} /><//>`;
  }
  return html`
    <div class="stack">
      <${SegmentedControl} label="How to give the case" options=${MODES} value=${form.mode} onChange=${changeMode} />
      <div class="stack">
        ${form.mode === "json"
          ? html`<${Field} key=${WHOLE} label="Case as JSON" hint=${HINT}>${codeArea(WHOLE, 18, form.texts[WHOLE])}<//>`
          : names.map(renderField)}
      </div>
    </div>`;
}

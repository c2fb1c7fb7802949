/** A case to fill in: just the fields that the chosen metrics need, or the case as JSON. */

import { useImperativeHandle, useRef, useState } from "../../vendor/preact_hooks.js";
import { html } from "../html.js";
import { FormError, formatObject, parseObject } from "../json_text.js";
import { Field, SegmentedControl } from "./fields.js";
import { RowsField, filledRows } from "./rows_field.js";

const TEXTS = { question: "Question", answer: "Answer", expected_answer: "Expected answer" };
const ROWS = { chunks: "Chunks", triples: "Triples" };
const CLAIM_SOURCES = { claims: "answer", expected_claims: "expected_answer" };
const OBJECTS = {
  traversal: ["Walk (JSON)", "start_nodes, traversed_edges as [source, label, target], final_nodes"],
  gold: [
    "Gold (JSON)",
    "essential_docs, helpful_docs, essential_repos, expected_edges, expected_nodes, start_nodes, answers",
  ],
  usage: ["Spent by the method (JSON)", "latency, llm_calls, prompt_tokens, output_tokens, cost"],
};
const MODES = [["form", "Form"], ["json", "JSON"]];
const WHOLE = "whole"; // the field of the case as JSON
const TAG = "tags.";
const HINT = "Fields of other tools, such as user_input and retrieved_contexts, are read too.";

/** Return the fields that some metrics need, in the order in which one fills them in; the question is always one. */
export function fieldsFor(metrics) {
  const needed = new Set(["question", ...metrics.flatMap(({ needs, optional }) => [...needs, ...(optional ?? [])])]);
  for (const [claims, source] of Object.entries(CLAIM_SOURCES)) if (needed.has(claims)) needed.add(source);
  if (needed.has("context")) for (const name of ["chunks", "triples"]) needed.add(name);
  const plain = [...Object.keys(TEXTS), ...Object.keys(ROWS), ...Object.keys(OBJECTS)].filter((name) => needed.has(name));
  return [...plain, ...[...needed].filter((name) => name.startsWith(TAG))];
}

/** Return the case that is filled in, without what is empty; throws FormError if a field cannot be read. */
function readForm({ mode, content, texts }, names) {
  if (mode === "json") return parseObject(texts[WHOLE], "The case", WHOLE);
  const found = { ...content };
  for (const name of names) {
    if (name in TEXTS && !found[name]?.trim()) delete found[name];
    if (name in OBJECTS && name in texts) {
      if (texts[name].trim()) found[name] = parseObject(texts[name], OBJECTS[name][0], name);
      else delete found[name];
    }
  }
  for (const name of Object.keys(ROWS)) {
    const rows = filledRows(name, found[name]);
    if (rows.length) found[name] = rows;
    else delete found[name];
  }
  const tags = Object.entries(found.tags ?? {}).filter(([, value]) => value !== "");
  if (tags.length) found.tags = Object.fromEntries(tags);
  else delete found.tags;
  return found;
}

/** Return the state of a form that shows a case. */
function showCase(mode, content) {
  return { mode, content, texts: mode === "json" ? { [WHOLE]: formatObject(content) } : {} };
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
    if (name in ROWS) {
      return html`<${RowsField} key=${name} kind=${name} label=${ROWS[name]} rows=${content[name]} onChange=${(rows) => changeContent({ [name]: rows })} />`;
    }
    if (name in OBJECTS) {
      const [label, hint] = OBJECTS[name];
      const value = texts[name] ?? (content[name] ? formatObject(content[name]) : "");
      return html`<${Field} key=${name} label=${label} hint=${hint}>${codeArea(name, 4, value)}<//>`;
    }
    if (name.startsWith(TAG)) {
      const tag = name.slice(TAG.length);
      return html`<${Field} key=${name} label=${`Tag ${tag}`}>
        <input type="text" dir="auto" value=${content.tags?.[tag] ?? ""}
          onInput=${({ target }) => changeContent({ tags: { ...content.tags, [tag]: target.value } })} /><//>`;
    }
    return html`<${Field} key=${name} label=${TEXTS[name]}>
      <textarea rows=${name === "answer" ? 3 : 2} dir="auto" value=${content[name] ?? ""}
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

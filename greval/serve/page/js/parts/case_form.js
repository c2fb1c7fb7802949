/** A case to fill in: just the fields that the chosen metrics need, or the case as JSON. */

import { fill, h } from "../dom.js";
import { field, segments } from "./field.js";
import { parsed, written } from "./json_text.js";
import { rowsField } from "./rows_field.js";

const TEXTS = { question: "Question", answer: "Answer", expected_answer: "Expected answer" };
const ROWS = { chunks: "Chunks", triples: "Triples" };
const OBJECTS = {
  traversal: ["Walk (JSON)", "start_nodes, traversed_edges as [source, label, target], final_nodes"],
  gold: [
    "Gold (JSON)",
    "essential_docs, helpful_docs, essential_repos, expected_edges, expected_nodes, start_nodes, answers",
  ],
  usage: ["Spent by the method (JSON)", "latency, llm_calls, prompt_tokens, output_tokens, cost"],
};
const MODES = [["form", "Form"], ["json", "JSON"]];
const TAG = "tags.";
const HINT = "Fields of other tools, such as user_input and retrieved_contexts, are read too.";

/** Give the fields that some metrics need, in the order in which one fills them in; the question is always one. */
export function fieldsFor(metrics) {
  const needed = new Set(["question", ...metrics.flatMap(({ needs, optional }) => [...needs, ...(optional ?? [])])]);
  if (needed.has("context")) for (const name of ["chunks", "triples"]) needed.add(name);
  const plain = [...Object.keys(TEXTS), ...Object.keys(ROWS), ...Object.keys(OBJECTS)].filter((name) => needed.has(name));
  return [...plain, ...[...needed].filter((name) => name.startsWith(TAG))];
}

/** Give {element, show(metrics), put(given), take()}: the form of a case, which keeps what it does not show. */
export const caseForm = () => new CaseForm();

class CaseForm {
  #content = { question: "" };
  #names = ["question"];
  #mode = "form";
  #takers = [];
  #place = h("div", { class: "stack" });

  constructor() {
    this.element = h("div", { class: "stack" },
      segments("How to give the case", MODES, this.#mode, (mode) => this.#turn(mode)), this.#place);
    this.#draw();
  }

  /** Show the fields that some metrics need. */
  show(metrics) {
    if (this.#mode === "form") this.#keep();
    this.#names = fieldsFor(metrics);
    this.#draw();
  }

  /** Fill in a case. */
  put(given) {
    this.#content = given;
    this.#draw();
  }

  /** Give the case; throws FormError where it cannot be read. */
  take() {
    this.#content = this.#mode === "json"
      ? this.#takers[0]()
      : this.#takers.reduce((known, taker) => ({ ...known, ...taker(known) }), this.#content);
    return this.#content;
  }

  /** Keep what is filled in, or what was there before where it cannot be read yet. */
  #keep() {
    try {
      this.take();
      return true;
    } catch {
      return false;
    }
  }

  #turn(mode) {
    if (this.#keep()) {
      this.#mode = mode;
      this.#draw();
    } else {
      for (const radio of this.element.querySelectorAll("input[type=radio]")) radio.checked = radio.value === this.#mode;
    }
  }

  #draw() {
    this.#takers = [];
    const drawn = this.#mode === "json" ? this.#whole() : this.#names.map((name) => this.#one(name));
    fill(this.#place, drawn);
  }

  #whole() {
    const area = h("textarea", { class: "code", rows: 18, spellcheck: "false", value: written(this.#content) });
    this.#takers.push(() => parsed(area, "The case"));
    return field("Case as JSON", area, HINT);
  }

  #one(name) {
    if (name in ROWS) return this.#rows(name);
    if (name in OBJECTS) return this.#object(name);
    return name.startsWith(TAG) ? this.#tag(name.slice(TAG.length)) : this.#text(name);
  }

  #rows(name) {
    const { element, take } = rowsField(name, ROWS[name], this.#content[name] ?? []);
    this.#takers.push(() => ({ [name]: take() }));
    return element;
  }

  #object(name) {
    const [label, hint] = OBJECTS[name];
    const value = this.#content[name] ? written(this.#content[name]) : "";
    const area = h("textarea", { class: "code", rows: 4, spellcheck: "false", value });
    this.#takers.push(() => ({ [name]: area.value.trim() ? parsed(area, label) : undefined }));
    return field(label, area, hint);
  }

  #text(name) {
    const area = h("textarea", { rows: name === "answer" ? 3 : 2, dir: "auto", value: this.#content[name] ?? "" });
    this.#takers.push(() => ({ [name]: area.value.trim() ? area.value : undefined }));
    return field(TEXTS[name], area);
  }

  #tag(name) {
    const input = h("input", { type: "text", dir: "auto", value: this.#content.tags?.[name] ?? "" });
    this.#takers.push(({ tags }) => ({ tags: { ...tags, [name]: input.value } }));
    return field(`Tag ${name}`, input);
  }
}

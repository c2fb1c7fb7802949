/** A new run: upload cases, choose metrics and a judge, start. */

import { get, post } from "../api.js";
import { fill, h } from "../dom.js";
import { allJudges, allMetrics } from "../parts/catalogue.js";
import { dataPart } from "../parts/data_part.js";
import { field } from "../parts/field.js";
import { judgeField } from "../parts/judge_field.js";
import { metricPicker } from "../parts/metric_picker.js";
import { problemBox } from "../parts/problem.js";
import { at, go } from "../router.js";

const NAME = "[A-Za-z0-9][A-Za-z0-9_\\-]{0,63}";
const NUMBERS = [
  ["limit", "Only the first cases", "empty: all"],
  ["repeats", "Repeats of each judgement", "empty: 1; more show how steady the judge is"],
  ["concurrency", "Calls at once", "empty: as the server decides"],
  ["max_calls", "At most so many calls", "the run stops there in order"],
  ["max_cost", "At most so many US dollars", "the run stops there in order"],
];

/** Show the form. */
export async function newRunView({ root, query, signal }) {
  fill(root, h("div", { class: "head" },
    h("div", null, h("p", { class: "crumbs" }, h("a", { href: "#/runs" }, "Runs")), h("h1", null, "Start a run"))));
  const [metrics, judges, { datasets }] = await Promise.all([allMetrics(), allJudges(), get("/v1/datasets", {}, signal)]);
  const data = dataPart(datasets, query.get("dataset"), signal);
  const picker = metricPicker(metrics, query.getAll("metric"));
  root.append(new NewRun({ data, picker, judge: judgeField(judges), signal }).element);
}

class NewRun {
  #name = h("input", { type: "text", pattern: NAME, autocomplete: "off" });
  #numbers = NUMBERS.map(([name, label, hint]) => ({ name, label, hint, input: numberInput(name) }));
  #out = h("div");
  #button = h("button", { class: "primary" }, "Start");

  constructor(parts) {
    Object.assign(this, parts);
    const { data, picker, judge } = parts;
    this.element = h("form", { class: "bench", novalidate: true, onsubmit: (event) => this.#submit(event) },
      h("section", { class: "sheet" }, h("h2", null, "Cases"), data.element),
      h("section", { class: "sheet" }, picker.element, judge.element,
        field("Name", this.#name, "Letters, digits, - and _; empty: the server makes one."),
        h("details", null, h("summary", null, "Limits and repeats"),
          h("div", { class: "numbers" }, this.#numbers.map(({ label, input, hint }) => field(label, input, hint)))),
        this.#out, h("div", { class: "actions" }, this.#button)));
  }

  async #submit(event) {
    event.preventDefault();
    const wrong = [this.#name, ...this.#numbers.map(({ input }) => input)].find((input) => !input.checkValidity());
    if (wrong) return wrong.reportValidity();
    const missing = this.#missing();
    if (missing) return fill(this.#out, problemBox(missing));
    this.#button.disabled = true;
    try {
      const run = await post("/v1/runs", this.#asked(), this.signal);
      go(at(["runs", run.id]));
    } catch (error) {
      if (!this.signal.aborted) fill(this.#out, problemBox(error));
    }
    this.#button.disabled = false;
    return null;
  }

  #missing() {
    if (!this.data.chosen()) return { title: "No cases", detail: "Choose a file, or a data set that is there already." };
    if (!this.picker.chosen().length) return { title: "No metric is chosen", detail: "Tick at least one metric." };
    return null;
  }

  #asked() {
    const given = this.#numbers.filter(({ input }) => input.value).map(({ name, input }) => [name, Number(input.value)]);
    return {
      dataset: this.data.chosen(),
      metrics: this.picker.chosen(),
      judge: this.judge.value(),
      name: this.#name.value || null,
      ...Object.fromEntries(given),
    };
  }
}

const numberInput = (name) =>
  h("input", name === "max_cost" ? { type: "number", min: "0.000001", step: "any" } : { type: "number", min: "1", step: "1" });

/** The playground: judge one case by some metrics, and read the verdicts beside what was judged. */

import { post } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { seconds } from "../format.js";
import { allJudges, allMetrics, knownMetrics } from "../parts/catalogue.js";
import { caseForm } from "../parts/case_form.js";
import { EXAMPLE, EXAMPLE_METRICS } from "../parts/example.js";
import { judgeField } from "../parts/judge_field.js";
import { judged, summaryOf } from "../parts/judged.js";
import { metricPicker } from "../parts/metric_picker.js";
import { empty, notice, problemBox } from "../parts/problem.js";
import { at, go } from "../router.js";

const TICK_MS = 200;

/** Show the form and the place of the verdicts. */
export async function playgroundView({ root, query, signal }) {
  fill(root, h("div", { class: "head" },
    h("div", null, h("h1", null, "Playground"), h("p", { class: "soft" }, "Judge one case and read the reasons."))));
  const [metrics, judges] = await Promise.all([allMetrics(), allJudges()]);
  root.append(new Playground(metrics, judges, query, signal).element);
}

class Playground {
  #form = caseForm();
  #button = h("button", { class: "primary" }, "Judge");
  #out = h("section", { class: "stack", "aria-label": "Verdicts" },
    empty("Verdicts appear here.", "Choose metrics, fill in what they need, and press Judge."));
  #working = null;

  constructor(metrics, judges, query, signal) {
    Object.assign(this, { metrics, judges, signal });
    this.picker = metricPicker(metrics, query.getAll("metric"), () => this.#changed());
    this.judge = judgeField(judges, query.get("judge"), () => this.#changed());
    this.element = h("div", { class: "bench" }, this.#sheet(), this.#out);
    this.#changed();
  }

  #sheet() {
    return h("form", { class: "sheet", onsubmit: (event) => this.#submit(event), novalidate: true },
      this.picker.element,
      this.judge.element,
      h("div", { class: "case-head" }, h("h2", null, "Case"),
        h("button", { type: "button", class: "quiet", onclick: () => this.#example() }, "Fill in an example")),
      this.#form.element,
      h("div", { class: "actions sticky" }, this.#button));
  }

  /** Show the fields that the chosen metrics need, and keep the choice in the address. */
  #changed() {
    const names = this.picker.chosen();
    this.#form.show(names.map((name) => this.metrics.get(name)));
    const judge = this.judge.value();
    go(at("playground", { metric: names, judge: judge === this.judges[0]?.name ? null : judge }), { replace: true });
  }

  #example() {
    if (!this.picker.chosen().length) this.picker.tick(EXAMPLE_METRICS);
    this.#form.put(structuredClone(EXAMPLE));
  }

  #submit(event) {
    event.preventDefault();
    if (this.#working) this.#working.abort();
    else this.#run();
  }

  async #run() {
    const names = this.picker.chosen();
    if (!names.length) return this.#tell(problemBox({ title: "No metric is chosen", detail: "Tick at least one metric." }));
    const given = this.#taken();
    if (!given) return null;
    const ended = this.#begin();
    try {
      const body = { cases: [given], metrics: names, judge: this.judge.value() };
      const found = await post("/v1/evaluate", body, this.#working.signal);
      this.#tell(judged(given, found, await knownMetrics(found.results.map(({ metric }) => metric), this.signal)));
      announce(`Judged: ${summaryOf(found.results)}`);
      inSight(this.#out);
    } catch (error) {
      if (!this.signal.aborted) this.#tell(this.#stopped(error));
    }
    return ended();
  }

  #stopped(error) {
    if (error.name === "AbortError") return notice("plain", "Stopped. Nothing more is asked.");
    return problemBox(error, { retry: () => this.#run() });
  }

  /** Give the case that is filled in; null where it cannot be read, which is told. */
  #taken() {
    try {
      return this.#form.take();
    } catch (error) {
      error.control?.focus();
      this.#tell(problemBox(error));
      return null;
    }
  }

  /** Show that it works, and how long; gives what ends that. */
  #begin() {
    this.#working = new AbortController();
    const leave = () => this.#working?.abort();
    this.signal.addEventListener("abort", leave);
    const began = performance.now();
    const told = h("p", { class: "empty-title" });
    const tick = () => fill(told, `Judging… ${seconds((performance.now() - began) / 1000)}`);
    const timer = setInterval(tick, TICK_MS);
    tick();
    this.#tell(h("div", { class: "empty busy" }, told));
    this.#button.textContent = "Stop";
    this.#out.setAttribute("aria-busy", "true");
    announce("Judging");
    return () => {
      clearInterval(timer);
      this.signal.removeEventListener("abort", leave);
      this.#working = null;
      this.#button.textContent = "Judge";
      this.#out.removeAttribute("aria-busy");
    };
  }

  #tell(...content) {
    fill(this.#out, content);
  }
}

/** Bring the verdicts into sight where they stand below the form. */
function inSight(out) {
  if (out.getBoundingClientRect().top > innerHeight * 0.7) out.scrollIntoView({ block: "start" });
}

/** A case on which a metric is tried while it is written. */

import { useRef } from "../../vendor/preact_hooks.js";
import { knownMetrics } from "../catalogue.js";
import { EXAMPLE } from "../example_case.js";
import { html } from "../html.js";
import { describeContent } from "../metric_document.js";
import { CaseAnswer, useJudging } from "./case_answer.js";
import { CaseForm } from "./case_form.js";
import { JudgeSelect } from "./judge_select.js";

const NO_NAME = { title: "The metric has no name", detail: "Give it a name first." };

/** A case to try the metric on, as it is written now. */
export function MetricTrial({ content, settle, judges, judge, onJudge }) {
  const form = useRef(null);
  const metric = describeContent(content);
  const { answer, toggle } = useJudging(form, async () => {
    const text = await settle();
    if (!content.name) throw NO_NAME;
    const describe = async (names, signal) => (await knownMetrics(names.filter((one) => one !== content.name), signal)).set(content.name, metric);
    return { body: { metrics: [content.name], unsaved: [text], judge }, chosen: [metric], describe };
  });
  function submit(event) {
    event.preventDefault();
    toggle();
  }
  return html`
    <div class="stack">
      <form class="sheet stack" aria-label="Try it" novalidate onSubmit=${submit}>
        <div class="case-head"><h2>Try it on a case</h2><button type="button" class="quiet" onClick=${() => form.current.fill(structuredClone(EXAMPLE))}>Fill in an example</button></div>
        <${JudgeSelect} judges=${judges} value=${judge} onChange=${onJudge} />
        <${CaseForm} metrics=${[metric]} handle=${form} />
        <div class="actions"><button>${answer.began ? "Stop" : "Judge"}</button></div>
      </form>
      <${CaseAnswer} ...${answer} hint="The metric judges as it is written now; it need not be saved." />
    </div>`;
}

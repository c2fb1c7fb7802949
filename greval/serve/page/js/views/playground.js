/** The playground: judge one case by some metrics, and read the verdicts beside what was judged. */

import { useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { allJudges, allMetrics, knownMetrics } from "../catalogue.js";
import { CaseAnswer, useJudging } from "../components/case_answer.js";
import { CaseForm } from "../components/case_form.js";
import { JudgeSelect, chooseJudge } from "../components/judge_select.js";
import { MetricPicker } from "../components/metric_picker.js";
import { Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { EXAMPLE, EXAMPLE_METRICS } from "../example_case.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { at, go } from "../router.js";

const NO_METRIC = { title: "No metric is chosen", detail: "Tick at least one metric." };

/** The form of a case, and beside it the verdicts. */
export function PlaygroundView({ query }) {
  const { data, error, reload } = useRequest(() => Promise.all([allMetrics(), allJudges()]), []);
  return html`
    <${ViewHead} title="Playground" lead="Judge one case and read the reasons." />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${Playground} metrics=${data[0]} judges=${data[1]} query=${query} />`}`;
}

function Playground({ metrics, judges, query }) {
  const [chosen, setChosen] = useState(() => query.getAll("metric").filter((name) => metrics.has(name)));
  const [judge, setJudge] = useState(() => chooseJudge(judges, query.get("judge")));
  const form = useRef(null);
  const { answer, toggle } = useJudging(form, () => {
    if (!chosen.length) throw NO_METRIC;
    return { body: { metrics: chosen, judge }, chosen: chosen.map((name) => metrics.get(name)), describe: knownMetrics };
  });
  useLayoutEffect(() => {
    go(at("playground", { metric: chosen, judge: judge === judges[0]?.name ? null : judge }), { replace: true });
  }, [chosen, judge]);

  function submit(event) {
    event.preventDefault();
    toggle();
  }
  function fillExample() {
    if (!chosen.length) setChosen(EXAMPLE_METRICS.filter((name) => metrics.has(name)));
    form.current.fill(structuredClone(EXAMPLE));
  }
  return html`
    <div class="bench">
      <form class="sheet" onSubmit=${submit} novalidate>
        <${MetricPicker} metrics=${metrics} chosen=${chosen} onChange=${setChosen} />
        <${JudgeSelect} judges=${judges} value=${judge} onChange=${setJudge} />
        <div class="case-head"><h2>Case</h2><button type="button" class="quiet" onClick=${fillExample}>Fill in an example</button></div>
        <${CaseForm} metrics=${chosen.map((name) => metrics.get(name))} handle=${form} />
        <div class="actions sticky"><button class="primary">${answer.began ? "Stop" : "Judge"}</button></div>
      </form>
      <${CaseAnswer} ...${answer} hint="Choose metrics, fill in what they need, and press Judge." />
    </div>`;
}

/** The editor of a metric: a form and a YAML text of the same document, checked as one writes, tried on a case. */

import { useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { getTagged, name as part, post, postTagged, remove } from "../api.js";
import { allJudges, allMetrics } from "../catalogue.js";
import { SegmentedControl } from "../components/fields.js";
import { chooseJudge } from "../components/judge_select.js";
import { MetricCheck, toneLines } from "../components/metric_check.js";
import { MetricForm } from "../components/metric_form.js";
import { MetricTrial } from "../components/metric_trial.js";
import { MetricVersions } from "../components/metric_versions.js";
import { Notice, Problem } from "../components/notices.js";
import { ViewHead } from "../components/view_head.js";
import { YamlEditor, selectLine } from "../components/yaml_editor.js";
import { useRequest } from "../hooks.js";
import { html } from "../html.js";
import { findFormFault, findFreeName, keepDraft, listLevels, readDraft } from "../metric_document.js";
import { useMetricText } from "../metric_text.js";
import { at, go } from "../router.js";

const MODES = [["form", "Form"], ["yaml", "YAML"]];
const LEAD = "Say what good means: a judge gives a value or a category with its reason, for each case.";
const NO_NAME = { title: "Nothing to draft from", detail: "Give the metric a name and a description first." };

/** The editor of a new metric, of a copy (`?from=NAME`), or of one of your own. */
export function MetricEditorView({ params: { name = null }, query }) {
  const from = query.get("from");
  const [saved, setSaved] = useState(null);
  const { data, error, reload } = useRequest((signal) => loadMetric(name, from, signal), [name, from]);
  const shown = saved ?? name;
  /** Go on as the editor of the metric that was saved under another name; what is tried stays as it is. */
  function takeName(other) {
    setSaved(other);
    go(at(["metrics", other, "edit"]), { replace: true });
  }
  return html`
    <${ViewHead} title=${shown ? `Edit ${shown}` : "Write a metric"} lead=${shown ? null : LEAD}
      crumbs=${[["#/library", "Library"], ...(shown ? [[at(["library", shown]), shown]] : [])]} />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${MetricEditor} key=${data.draftName} ...${data} name=${shown} onName=${takeName} />`}`;
}

/** Return what the editor begins with: the text on the server, or the draft that this tab keeps. */
async function loadMetric(name, from, signal) {
  const judges = await allJudges();
  const draftName = name ?? `new ${from ?? ""}`;
  let [text, etag, origin] = ["", null, "own"];
  if (name ?? from) {
    const found = await getTagged(`/v1/metrics/${part(name ?? from)}`, signal);
    text = found.content.yaml ?? "";
    origin = found.content.origin;
    if (name) etag = found.etag;
    else text = (await post("/v1/metrics/edit", { yaml: text, fields: { name: await findFreeName(from, signal) } }, signal)).yaml;
  }
  const draft = readDraft(draftName);
  const restored = draft !== null && draft.text !== text;
  const begin = restored ? draft : { text, etag };
  const check = begin.text ? await post("/v1/metrics/check", { yaml: begin.text }, signal) : null;
  return { judges, draftName, saved: { text, etag }, begin, restored, check, origin };
}

function MetricEditor({ judges, draftName, name, saved: first, begin, restored, check: firstCheck, origin, onName }) {
  const [saved, setSaved] = useState(first);
  const [kept, setKept] = useState(restored);
  const [problem, setProblem] = useState(null);
  const [notice, setNotice] = useState(null);
  const [judge, setJudge] = useState(() => chooseJudge(judges, null));
  const etag = useRef(begin.etag);
  const area = useRef(null);
  const metricText = useMetricText(begin.text, firstCheck, setProblem);
  const { text, fields, mode, check, pending } = metricText;
  const changed = text !== saved.text;
  useLayoutEffect(() => keepDraft(name ?? draftName, changed ? { text, etag: etag.current } : null), [text, saved]);
  useLayoutEffect(() => setProblem(null), [text]); // it was about another text
  useEffect(() => {
    if (!changed) return undefined;
    const ask = (event) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [changed]);

  async function attempt(act) {
    setProblem(null);
    setNotice(null);
    try {
      await act();
    } catch (error) {
      if (error.name !== "AbortError") setProblem(error);
    }
  }
  const save = (condition) => attempt(async () => {
    const latest = await metricText.settle();
    if (!latest) return;
    const found = await postTagged("/v1/metrics", { yaml: latest }, condition ?? (name ? etag.current : null));
    await finishSave(found, latest);
  });
  async function finishSave({ content, etag: tag }, latest) {
    await allMetrics({ fresh: true });
    announce(`${content.name} is saved`);
    keepDraft(name ?? draftName, null);
    etag.current = tag;
    setSaved({ text: latest, etag: tag });
    setKept(false);
    if (content.name !== name) onName(content.name);
    setNotice(html`${content.name} is saved. <a href=${at("new-run", { metric: content.name })}>Use it in a run</a>, or <a href=${at(["library", content.name])}>see it in the library</a>.`);
  }
  const overwrite = () => attempt(async () => save((await getTagged(`/v1/metrics/${part(name)}`)).etag));
  const takeTheirs = () => attempt(async () => {
    const { content, etag: tag } = await getTagged(`/v1/metrics/${part(name)}`);
    etag.current = tag;
    setSaved({ text: content.yaml, etag: tag });
    await metricText.replace(content.yaml);
  });
  const restore = (version) => attempt(async () => {
    const url = `/v1/metrics/${part(name)}/versions/${version}/restore`;
    await postTagged(url, undefined, etag.current);
    await takeTheirs();
    setNotice(`Version ${version} is the current one again.`);
  });
  const discard = () => attempt(async () => {
    etag.current = saved.etag;
    setKept(false);
    await metricText.replace(saved.text);
  });
  const draft = () => attempt(async () => {
    const { description, over, scale } = fields ?? {};
    if (!fields?.name?.trim() || !description?.trim()) throw NO_NAME;
    const found = await post("/v1/metrics/draft", { name: fields.name.trim(), description, over, scale: draftScale(scale), judge });
    await metricText.replace(found.yaml);
    const advice = found.good ? "The judge's good examples got more by it than its bad ones." : found.warnings.join(" ");
    setNotice(`This is a draft of the judge: read each text, and mend what the check remarks on. ${advice}`);
    announce("The draft is there");
  });
  const gone = () => attempt(async () => {
    await remove(`/v1/metrics/${part(name)}`);
    keepDraft(draftName, null);
    await allMetrics({ fresh: true });
    announce(`${name} is deleted`);
    go("#/library");
  });
  function goToLine(line) {
    if (mode === "yaml") selectLine(area.current, line);
    else metricText.show("yaml").then((shown) => shown && requestAnimationFrame(() => area.current && selectLine(area.current, line)));
  }
  if (origin !== "own" && name) {
    return html`<${Notice} tone="warn"><p>This metric is not one of your own. <a href=${at(["metrics", "new"], { from: name })}>Copy it under a new name</a> to change it.</p><//>`;
  }
  const fault = mode === "form" && fields ? findFormFault(fields) : null;
  return html`
    <div class="bench">
      <div class="stack">
        <form class="sheet stack" novalidate onSubmit=${(event) => { event.preventDefault(); save(); }}>
          <div class="case-head">
            <${SegmentedControl} label="How to write it" options=${MODES} value=${mode} onChange=${metricText.show} />
            ${changed && html`<span class="soft small" role="status">Not saved</span>`}
          </div>
          ${kept && changed && html`<${Notice}><p>These are your changes that were not saved. <button type="button" class="quiet" onClick=${discard}>Discard them</button></p><//>`}
          ${mode === "form"
            ? html`<${MetricForm} fields=${fields} judges=${judges} onChange=${metricText.change} />`
            : html`<${YamlEditor} text=${text} tones=${toneLines(check)} control=${area} onInput=${metricText.type} />`}
          <${MetricCheck} check=${check} error=${metricText.error} pending=${pending} inForm=${mode === "form"} onLine=${goToLine} />
          ${fault && html`<${Notice} tone="warn"><p>${fault}</p><//>`}
          ${problem && html`<${Problem} error=${problem} />`}
          ${problem?.code === "metric_changed" && html`
            <div class="actions">
              <button type="button" onClick=${takeTheirs}>Take what is there now</button>
              <button type="button" onClick=${overwrite}>Save mine over it</button>
            </div>`}
          ${notice && html`<${Notice}><p>${notice}</p><//>`}
          <div class="actions sticky">
            <button class="primary" disabled=${Boolean(fault)}>Save</button>
            <${Draft} judges=${judges} onDraft=${draft} />
            ${name && html`<${DeleteButton} name=${name} onDelete=${gone} />`}
          </div>
        </form>
        ${name && html`<${MetricVersions} name=${name} stamp=${saved.etag} onRestore=${restore} />`}
      </div>
      <${MetricTrial} content=${metricText.content} settle=${metricText.settle} judges=${judges} judge=${judge} onJudge=${setJudge} />
    </div>`;
}

/** Return the scale of a draft: what is filled in of it. */
function draftScale(scale) {
  if (scale?.kind === "range") return listLevels(scale).length ? [Number(scale.low), Number(scale.high)] : "value";
  const names = (scale?.categories ?? []).map(({ name }) => name.trim()).filter(Boolean);
  return names.length > 1 ? names : "categorical";
}

/** The button that lets a judge write the rest. */
function Draft({ judges, onDraft }) {
  const [busy, setBusy] = useState(false);
  async function draft() {
    if (busy) return;
    setBusy(true);
    announce("Drafting");
    await onDraft();
    setBusy(false);
  }
  return judges.length > 0 && html`
    <button type="button" aria-busy=${busy ? "true" : null} onClick=${draft}>${busy ? "Drafting…" : "Draft the rest"}</button>`;
}

/** A button that asks before it deletes. */
function DeleteButton({ name, onDelete }) {
  const [asked, setAsked] = useState(false);
  const keep = useRef(null);
  useLayoutEffect(() => {
    if (asked) keep.current.focus();
  }, [asked]);
  if (!asked) return html`<button type="button" class="danger quiet" onClick=${() => setAsked(true)}>Delete</button>`;
  return html`
    <span class="confirm" role="group" aria-label="Delete this metric?">
      <span>Delete <bdi>${name}</bdi> and its versions? Runs keep what they judged.</span>
      <button type="button" class="danger" onClick=${onDelete}>Delete it</button>
      <button type="button" ref=${keep} onClick=${() => setAsked(false)}>Keep it</button>
    </span>`;
}

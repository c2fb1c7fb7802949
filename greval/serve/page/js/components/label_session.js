/** A session of labelling: one item at a time, saved as soon as it is labelled. */

import { useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { announce } from "../announce.js";
import { name as part, post, send } from "../api.js";
import { count, counted, seconds } from "../format.js";
import { useBusy } from "../hooks.js";
import { html } from "../html.js";
import { meaning, toneClass, valuesOf } from "../scale.js";
import { Field } from "./fields.js";
import { JudgementDetails } from "./judgement_details.js";
import { LabelFigures } from "./label_figures.js";
import { EmptyState, Problem } from "./notices.js";
import { Text } from "./text.js";
import { ValueChip } from "./value_chip.js";

const BATCH = 50;
const WRITING = "input:not([type=checkbox]):not([type=radio]), textarea, select";
const DIGITS = /^[0-9]$/;

/** The items of a queue, one after the other, and the figures of all labels beside them. */
export function LabelSession({ run, metric, annotator, sample, blind }) {
  const session = useLabels(run, { metric, annotator, sample, blind });
  const { queue, items, position, error, retry, labels } = session;
  useBusy(!queue && !error);
  return html`
    ${error && html`<${Problem} error=${error} retry=${retry} />`}
    ${queue && html`
      <div class="label-session">
        <section class="stack" aria-label="Item to label">
          <${LabelProgress} queue=${queue} position=${position} began=${session.began} />
          ${items[position]
            ? html`<${LabelForm} key=${position} item=${items[position]} queue=${queue} label=${session.label} undo=${position > 0 ? session.undo : null} />`
            : html`<${EndOfQueue} queue=${queue} position=${position} undo=${position > 0 ? session.undo : null} loading=${session.loading} />`}
        </section>
        <${LabelFigures} run=${run} metric=${metric} saved=${labels + queue.labelled - queue.discarded} />
      </div>`}`;
}

/**
 * Return the state of a session: its queue, and functions that label and undo. A label is shown as given at once and
 * saved in the order of labels; what could not be saved is sent again by `retry`. `labels` is the number of saved values.
 * A value is subtracted as soon as it is undone, before the server removes it, so that no figures of it are requested.
 */
function useLabels(run, options) {
  const [state, setState] = useState({ queue: null, items: [], position: 0, saved: 0, labels: 0, error: null, loading: true });
  const waiting = useRef([]);
  const sending = useRef(false);
  const isValue = useRef([]); // for each label of the session: false if its item cannot be judged
  const began = useRef(performance.now());
  const left = useRef(false);
  const change = (update) => left.current || setState((before) =>
    ({ ...before, ...(typeof update === "function" ? update(before) : update) }));

  async function load() {
    change({ loading: true, error: null });
    try {
      const queue = await post(`/v1/runs/${part(run)}/labels`, { ...options, limit: BATCH });
      change((before) => {
        const known = new Set(before.items.map(keyOf));
        const items = [...before.items, ...queue.items.filter((item) => !known.has(keyOf(item)))];
        return { queue: before.queue ?? queue, items, loading: false };
      });
    } catch (error) {
      change({ error, loading: false });
    }
  }
  async function save() {
    if (sending.current) return;
    sending.current = true;
    change({ error: null });
    try {
      while (waiting.current.length) {
        const batch = [...waiting.current];
        await send("PUT", `/v1/runs/${part(run)}/annotations`, { body: JSON.stringify(batch), type: "application/json" });
        waiting.current.splice(0, batch.length);
        const undone = batch.filter(({ status }) => status === "pending").length;
        const labels = batch.filter(({ status }) => !status).length; // without those that cannot be judged
        change((before) => ({ saved: before.saved + batch.length - 2 * undone, labels: before.labels + labels }));
      }
    } catch (error) {
      change({ error });
    }
    sending.current = false;
  }
  function put(item, given) {
    const { sample_id, method, item: id, content, weight, stratum } = item;
    const suggested = !options.blind;
    const who = { metric: options.metric, annotator: options.annotator };
    waiting.current.push({ sample_id, method, item: id, content, weight, stratum, suggested, ...who, ...given });
    save();
  }
  useEffect(() => {
    load();
    const warn = (event) => waiting.current.length && event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => {
      left.current = true;
      removeEventListener("beforeunload", warn);
    };
  }, []);
  const { items, position, queue, saved, loading } = state;
  useEffect(() => {
    const more = queue && position >= items.length && saved === position && queue.labelled + position < queue.drawn;
    if (more && !loading) load();
  }, [position, saved, queue]);
  return {
    ...state,
    began: began.current,
    retry: () => (queue ? save() : load()),
    label: (given) => {
      change({ position: position + 1 });
      isValue.current.push(!given.status);
      put(items[position], given);
    },
    undo: () => {
      const undone = isValue.current.pop() ? 1 : 0;
      change((before) => ({ position: position - 1, labels: before.labels - undone }));
      put(items[position - 1], { status: "pending", value: null });
    },
  };
}

const keyOf = ({ sample_id: id, method, item }) => JSON.stringify([id, method, item]);

function LabelProgress({ queue, position, began }) {
  const done = queue.labelled + position;
  const pace = position > 2 ? ` · ${seconds((performance.now() - began) / 1000 / position)} each` : "";
  return html`
    <div class="label-progress">
      <progress max=${queue.drawn} value=${done} aria-label="Labelled items"></progress>
      <p class="soft small">${count(done)} of ${count(queue.drawn)} labelled${pace} · ${count(queue.judged)} judged in all</p>
    </div>`;
}

/** One item: its texts, the values of the scale as buttons with keys, a comment. */
function LabelForm({ item, queue, label, undo }) {
  const place = useRef(null);
  const comment = useRef(null);
  const choices = listChoices(queue.scale);
  const give = (value) => label({ value, ...readComment(comment.current) });
  const discard = () => label({ status: "discarded", value: null, ...readComment(comment.current) });
  useLayoutEffect(() => {
    place.current.focus({ preventScroll: true });
    announce(`Item: ${Object.values(item.fields)[0]}`);
  }, []);
  useLabelKeys({ choices, give, discard, undo, comment });
  return html`
    <article class="sheet label-item" tabindex="-1" ref=${place} aria-label=${`${item.sample_id} ${item.item ?? ""}`}>
      <dl class="label-fields">
        ${Object.entries(item.fields).map(([name, text]) => html`
          <div class=${isSide(name, item.fields) ? "side" : ""}><dt>${queue.titles[name] ?? name}</dt><dd><${Text}>${text}<//></dd></div>`)}
      </dl>
      ${item.judgement && html`<section class="label-verdict" aria-label="The judge's verdict"><${JudgementDetails} judgement=${item.judgement} scale=${queue.scale} /></section>`}
      <${OtherLabels} labels=${item.labels} scale=${queue.scale} />
      ${choices
        ? html`<div class="label-choices" role="group" aria-label="Your label">
            ${choices.map(({ key, value, word }) => html`
              <button type="button" class=${`label-choice ${toneClass(queue.scale, value)}`} onClick=${() => give(value)} aria-keyshortcuts=${key}>
                ${key && html`<kbd>${key}</kbd>`}<span><bdi>${word}</bdi>${meaning(queue.scale, word) && html`<small>${meaning(queue.scale, word)}</small>`}</span>
              </button>`)}
          </div>`
        : html`<${NumberEntry} scale=${queue.scale} give=${give} />`}
      <${Field} label="Comment"><textarea rows="2" maxlength="5000" ref=${comment} /><//>
      <div class="actions">
        <button type="button" onClick=${discard} aria-keyshortcuts="x"><kbd>x</kbd> Cannot be judged</button>
        ${undo && html`<button type="button" class="quiet" onClick=${undo} aria-keyshortcuts="u"><kbd>u</kbd> Undo the last label</button>`}
        <span class="soft small"><kbd>c</kbd> comment, <kbd>Esc</kbd> back to the item</span>
      </div>
    </article>`;
}

/** Return whether a field is of one of the two responses of a pair; the other one is beside it. */
const isSide = (name, fields) => /_[ab]$/.test(name) && ["a", "b"].every((letter) => Object.hasOwn(fields, name.slice(0, -1) + letter));

const readComment = (field) => (field?.value.trim() ? { comment: field.value.trim() } : {});

/** Return the values of a scale with their keys: the digit itself if all are digits, else their position. */
function listChoices(scale) {
  const values = valuesOf(scale);
  if (!values) return null;
  const digits = Boolean(scale.range) && values.every((value) => DIGITS.test(value));
  return values.map((word, place) => ({
    word,
    value: scale.range ? Number(word) : word,
    key: digits ? word : place < 9 ? String(place + 1) : null,
  }));
}

/** Listen for the keys of an item, unless somebody writes in a field. */
function useLabelKeys({ choices, give, discard, undo, comment }) {
  useLayoutEffect(() => { // at once, so that no key of a fast typist is lost
    function press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.target instanceof Element && event.target.matches(WRITING)) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const chosen = choices?.find(({ key }) => key === event.key);
      const action = chosen ? () => give(chosen.value) : { x: discard, u: undo, c: () => comment.current.focus() }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

function NumberEntry({ scale, give }) {
  const [low, high] = scale.range ?? [scale.low, scale.high];
  const submit = (event) => {
    event.preventDefault();
    give(Number(new FormData(event.target).get("number")));
  };
  return html`
    <form class="inline-form" onSubmit=${submit}>
      <${Field} label="Your label"><input type="number" name="number" min=${low} max=${high} step=${scale.step ?? "any"} required /><//>
      <button class="primary">Next</button>
    </form>`;
}

function OtherLabels({ labels, scale }) {
  const given = Object.entries(labels);
  if (!given.length) return null;
  return html`<p class="label-others">${given.map(([name, value]) => html`<span><bdi>${name}</bdi>: <${ValueChip} value=${value} scale=${scale} /></span>`)}</p>`;
}

function EndOfQueue({ queue, position, undo, loading }) {
  if (loading || queue.labelled + position < queue.drawn) return html`<${EmptyState} busy title="Loading the next items…" />`;
  if (!queue.drawn) return html`<${EmptyState} title="No item fits.">Nobody labelled an item in another way than the judge.<//>`;
  return html`
    <${EmptyState} title=${`All ${counted(queue.drawn, "item")} of this queue are labelled.`}>
      ${undo && html`<button type="button" class="quiet" onClick=${undo}>Undo the last label</button>`}
    <//>`;
}

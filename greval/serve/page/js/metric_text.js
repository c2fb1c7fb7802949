/** The text of a metric file while it is written, in a form or as it is. */

import { useEffect, useRef, useState } from "../vendor/preact_hooks.js";
import { post } from "./api.js";
import { readContent, writeField } from "./metric_document.js";

const PAUSE_MS = 400;

/**
 * The text of a metric file with the form of it. The text is the document: changes of the form are written into it by
 * the server, and after a pause it is checked there.
 */
export function useMetricText(firstText, firstCheck, onProblem) {
  const [state, setState] = useState(() => ({
    text: firstText,
    check: firstCheck,
    content: firstCheck?.content ?? {},
    ...(firstCheck && !firstCheck.content ? { mode: "yaml", fields: null } : { mode: "form", fields: readContent(firstCheck?.content ?? {}) }),
    pending: false,
    error: null,
  }));
  const now = useRef(state);
  const waiting = useRef({ timer: null, changes: {}, typed: false, chain: Promise.resolve() });
  const put = (difference) => {
    now.current = { ...now.current, ...difference };
    setState(now.current);
  };
  useEffect(() => () => clearTimeout(waiting.current.timer), []);

  /** Send what is waiting, one request after the other. */
  function flush() {
    const { current } = waiting;
    clearTimeout(current.timer);
    current.chain = current.chain.then(send, send);
    return current.chain;
  }
  async function send() {
    const { current } = waiting;
    const { changes, typed } = current;
    Object.assign(current, { changes: {}, typed: false });
    if (!Object.keys(changes).length && !typed) return;
    const { text } = now.current;
    try {
      if (typed) receive(text, text, await post("/v1/metrics/check", { yaml: text }));
      else {
        const found = await post("/v1/metrics/edit", { yaml: text, fields: changes });
        receive(text, found.yaml, found);
      }
    } catch (error) {
      current.changes = { ...changes, ...current.changes };
      put({ pending: false, error });
    }
  }
  /** Take the outcome of a check, unless the text has changed meanwhile. */
  function receive(asked, text, check) {
    if (now.current.text !== asked) return;
    put({ text, check, content: check.content ?? now.current.content, pending: false, error: null });
  }
  function wait() {
    put({ pending: true });
    clearTimeout(waiting.current.timer);
    waiting.current.timer = setTimeout(flush, PAUSE_MS);
  }
  function change(key, value) {
    let fields = { ...now.current.fields, [key]: value };
    const keys = [key];
    if (key === "over" && value && fields.needs && !fields.needs.includes(value)) {
      fields = { ...fields, needs: [...fields.needs, value] };
      keys.push("needs");
    }
    put({ fields });
    for (const one of keys) waiting.current.changes[one] = writeField(one, fields);
    wait();
  }
  function type(text) {
    put({ text });
    waiting.current.typed = true;
    wait();
  }
  /** Replace the text. */
  async function replace(text) {
    await flush();
    put({ text, pending: true });
    waiting.current.typed = true;
    await flush();
    if (now.current.check?.content) put({ fields: readContent(now.current.check.content) });
    else put({ mode: "yaml" });
  }
  /** Show the form or the text; returns whether that is possible. */
  async function show(mode) {
    await flush();
    if (now.current.error) return false;
    const { text, check } = now.current;
    if (mode === "form" && text.trim() && !check?.content) {
      put({}); // the control shows again which mode it is
      onProblem({ title: "The form cannot show this text", detail: "It is not YAML of a metric. Mend the marked line first." });
      return false;
    }
    onProblem(null);
    put(mode === "form" ? { mode, fields: readContent(text.trim() ? check.content : {}) } : { mode });
    return true;
  }
  /** Send what is waiting; returns the text, or null if the server could not be asked. */
  async function settle() {
    await flush();
    return now.current.error ? null : now.current.text;
  }
  return { ...state, change, type, replace, show, settle };
}

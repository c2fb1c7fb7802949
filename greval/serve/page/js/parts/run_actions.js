/** What can be done with a run: cancel, resume, delete; each says so where the server refuses. */

import { name, post, remove } from "../api.js";
import { announce, data, h } from "../dom.js";
import { problemBox } from "./problem.js";

const HIGHER_CAP = "a higher cap goes on"; // as greval.guard says it

/**
 * Give the buttons that fit a run's status.
 * @param {Object} run what the server says of it
 * @param {Object} then `changed(run)` and `gone()`
 */
export function runActions(run, { changed, gone }) {
  const url = `/v1/runs/${name(run.id)}`;
  const again = run.status === "finished" ? "Ask failed again" : "Resume";
  const active = run.status === "queued" || run.status === "running";
  return [
    active ? button("Cancel", run, async () => changed(await post(`${url}/cancel`))) : null,
    run.resumable && leftToDo(run) ? button(again, run, () => resumed(run, async (caps) => changed(await post(`${url}/resume`, caps)))) : null,
    active ? null : button("Delete", run, () => confirmed(run, async () => {
      await remove(url);
      announce(`${run.name || run.id} is deleted`);
      await gone();
    }), "danger quiet"),
  ];
}

/** Say whether there is something that resuming would ask for. */
function leftToDo({ status, progress }) {
  if (status === "queued" || status === "running") return false;
  return status !== "finished" || Boolean(progress?.failed || progress?.items_failed);
}

/** Ask for a higher cap where one stopped the run, and let it go on. */
function resumed(run, act) {
  if (!run.why?.includes(HIGHER_CAP)) return act();
  const cost = run.why.includes("(--max-cost)");
  const input = h("input", cost ? { type: "number", min: "0.000001", step: "any", required: true } : { type: "number", min: "1", step: "1", required: true });
  const title = "Go on with a higher cap";
  const dialog = shown(title, [
    h("h2", null, title),
    h("p", null, data(run.why)),
    h("p", null, h("label", null, cost ? "At most so many US dollars, those spent before included " : "At most so many calls, those made before included ", input)),
  ]);
  dialog.querySelector(".actions").prepend(h("button", { value: "yes" }, "Go on"));
  return new Promise((resolve, reject) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "yes" && Number(input.value);
      if (!given) return resolve();
      return act({ [cost ? "max_cost" : "max_calls"]: given }).then(resolve, reject);
    });
  });
}

function button(word, run, act, tone = "") {
  const label = `${word} ${run.name || run.id}`;
  const element = h("button", { type: "button", class: tone, "aria-label": label, onclick: go }, word);
  let busy = false;
  async function go() {
    if (busy) return;
    busy = true; // not disabled: it would lose the focus
    try {
      await act();
    } catch (error) {
      shown("Not done", problemBox(error));
    } finally {
      busy = false;
    }
  }
  return element;
}

function shown(label, content) {
  const close = h("form", { method: "dialog" }, h("div", { class: "actions" }, h("button", null, "Close")));
  const dialog = h("dialog", { "aria-label": label }, content, close);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  return dialog;
}

function confirmed(run, act) {
  const title = "Delete this run?";
  const dialog = shown(title, [
    h("h2", null, title),
    h("p", null, "All results of ", data(run.name || run.id), " are deleted from the server's disk. This cannot be undone."),
  ]);
  dialog.querySelector(".actions").prepend(h("button", { class: "danger", value: "yes" }, "Delete it"));
  return new Promise((resolve, reject) => {
    dialog.addEventListener("close", () => (dialog.returnValue === "yes" ? act().then(resolve, reject) : resolve()));
  });
}

/** What can be done with a run: cancel, resume, delete; each says so where the server refuses. */

import { name, post, remove } from "../api.js";
import { announce, data, h } from "../dom.js";
import { problemBox } from "./problem.js";

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
    run.resumable && leftToDo(run) ? button(again, run, async () => changed(await post(`${url}/resume`))) : null,
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

/** How far a run is: a bar of scored, skipped and failed, with counts. */

import { fill, h } from "../dom.js";
import { count, counted, dollars, percent, seconds } from "../format.js";

const PARTS = [["scored", "good"], ["skipped", "plain"], ["failed", "bad"]];

/** Give {element, put(progress, live)}: the place of a run's progress, of one height whatever it shows. */
export function progressBar(label) {
  const fills = PARTS.map(([name, tone]) => h("span", { class: `meter-fill ${tone}`, size: 0, "data-part": name }));
  const ends = { "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "0" };
  const bar = h("div", { class: "meter wide", role: "progressbar", "aria-label": label, ...ends }, fills);
  const told = h("p", { class: "small soft progress-told" }, "\u00a0");
  return { element: h("div", { class: "progress" }, bar, told), put };

  function put(progress, { live = false } = {}) {
    if (!progress) {
      fill(told, "\u00a0");
      return;
    }
    const whole = progress.total ?? progress.done;
    PARTS.forEach(([name], place) => {
      fills[place].style.width = whole ? `${(100 * progress[name]) / whole}%` : "0";
    });
    bar.setAttribute("aria-valuenow", String(whole ? Math.floor((100 * progress.done) / whole) : 0));
    bar.setAttribute("aria-valuetext", toldShort(progress));
    fill(told, toldLong(progress, live));
  }
}

/** Say how far a run is in a few words. */
export function toldShort({ done, total, failed }) {
  const far = total ? `${count(done)} of ${count(total)} judgements, ${percent(done / total)}` : counted(done, "judgement");
  return failed ? `${far}, ${count(failed)} failed` : far;
}

function toldLong(progress, live) {
  const parts = [toldShort({ ...progress, failed: 0 })];
  for (const [name] of PARTS) if (progress[name]) parts.push(`${count(progress[name])} ${name}`);
  if (progress.items_failed) parts.push(`${counted(progress.items_failed, "item")} failed alone`);
  if (progress.unread) parts.push(`${counted(progress.unread, "row")} not read`);
  if (progress.kept) parts.push(`${count(progress.kept)} kept`);
  if (progress.usage?.calls) parts.push(counted(progress.usage.calls, "call"));
  if (progress.cost) parts.push(dollars(progress.cost));
  const left = timeLeft(progress);
  if (live && left !== null) parts.push(`${seconds(left)} left`);
  return parts.join(" · ");
}

function timeLeft({ done, kept, total, seconds: spent }) {
  const judged = done - kept;
  return total && judged > 0 ? (spent / judged) * Math.max(0, total - done) : null;
}

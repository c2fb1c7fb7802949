/** Choosing metrics: a list to search and tick. */

import { fill, h } from "../dom.js";
import { matches } from "./matching.js";
import { metricBadges } from "./badge.js";
import { search } from "./field.js";

/**
 * Give {element, chosen(), tick(names)}: a list of metrics to tick.
 * @param {Map} metrics by name
 * @param {Iterable} ticked names that are ticked first
 * @param {Function} onchange called with the names when they change
 */
export function metricPicker(metrics, ticked, onchange) {
  const chosen = new Set([...ticked].filter((name) => metrics.has(name)));
  const summary = h("div", { class: "chosen" });
  const rows = [...metrics.values()].map((metric) => ({ metric, row: optionRow(metric) }));
  const none = h("p", { class: "soft picker-none", hidden: true }, "No metric matches.");

  function optionRow(metric) {
    const box = h("input", {
      type: "checkbox", value: metric.name, checked: chosen.has(metric.name), onchange: () => turn(metric.name, box.checked),
    });
    return h("label", { class: "picker-row", title: metric.description }, box,
      h("span", { class: "mono", dir: "auto" }, metric.name), h("span", { class: "picker-badges" }, metricBadges(metric)));
  }
  function turn(name, on) {
    if (on) chosen.add(name);
    else chosen.delete(name);
    const box = rows.find(({ metric }) => metric.name === name).row.querySelector("input");
    box.checked = on;
    show();
    onchange?.([...chosen]);
  }
  function show() {
    fill(summary, chosen.size
      ? [...chosen].map((name) => chip(name, () => turn(name, false)))
      : h("span", { class: "soft" }, "No metric chosen yet."));
  }
  function filter(words) {
    for (const { metric, row } of rows) row.hidden = !matches(metric, words);
    none.hidden = rows.some(({ row }) => !row.hidden);
  }
  show();
  const element = h("fieldset", { class: "picker" }, h("legend", null, "Metrics"), summary,
    search("Search metrics", "", filter), h("div", { class: "picker-list" }, rows.map(({ row }) => row), none));
  return {
    element,
    chosen: () => [...chosen],
    tick: (names) => names.filter((name) => metrics.has(name)).forEach((name) => turn(name, true)),
  };
}

const chip = (name, onclick) =>
  h("button", { type: "button", class: "chip", "aria-label": `Remove ${name}`, onclick },
    h("span", { class: "mono" }, name), h("span", { "aria-hidden": "true" }, "×"));

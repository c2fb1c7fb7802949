/** Chunks and triples as rows to fill in; what a row holds beyond its fields is kept. */

import { fill, h, newId } from "../dom.js";

const FIELDS = {
  chunks: { text: { label: "Text", rows: 2 }, doc_id: { label: "Document" } },
  triples: { subject: { label: "Subject" }, predicate: { label: "Predicate" }, object: { label: "Object" } },
};

/** Give {element, take()}: a list of rows of one kind. */
export function rowsField(kind, label, given) {
  const rows = given.map((thing) => (typeof thing === "string" ? { text: thing } : Array.isArray(thing)
    ? { subject: thing[0], predicate: thing[1], object: thing[2] } : { ...thing }));
  if (!rows.length) rows.push({});
  const one = label.toLowerCase().slice(0, -1);
  const list = h("ol", { class: "rows" });
  const add = h("button", { type: "button", onclick: () => grow() }, `Add ${one}`);
  const element = h("fieldset", { class: "field" }, h("legend", null, label), list, add);

  function grow() {
    rows.push({});
    draw();
    list.lastElementChild.querySelector("textarea, input").focus();
  }
  function drop(place) {
    rows.splice(place, 1);
    draw();
    (list.children[Math.min(place, rows.length - 1)]?.querySelector("textarea, input") ?? add).focus();
  }
  function draw() {
    fill(list, rows.map((row, place) => h("li", { class: `row ${kind}` },
      Object.entries(FIELDS[kind]).map(([name, { label: word, rows: lines }]) => control(row, name, word, place, lines)),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove ${one} ${place + 1}`, onclick: () => drop(place) },
        h("span", { "aria-hidden": "true" }, "×")))));
  }
  draw();
  return { element, take: () => taken(rows, kind) };
}

function control(row, name, word, place, lines) {
  const id = newId("row");
  const props = { id, dir: "auto", value: row[name] ?? "", placeholder: word, oninput: (event) => {
    row[name] = event.target.value;
  } };
  return h("div", { class: `cell ${name}` }, h("label", { for: id, class: "unseen" }, `${word} ${place + 1}`),
    lines ? h("textarea", { ...props, rows: lines }) : h("input", { ...props, type: "text" }));
}

/** Give the rows that hold something; each keeps its id, or gets one by its place. */
function taken(rows, kind) {
  const names = Object.keys(FIELDS[kind]);
  const held = rows.filter((row) => names.some((name) => row[name]?.trim()));
  const ids = new Set(held.map(({ id }) => id));
  return held.map((row, place) => {
    const full = kind === "triples" ? { subject: "", predicate: "", object: "", ...row } : { text: "", ...row };
    if (!full.doc_id?.trim()) delete full.doc_id;
    if (full.id === undefined) {
      let number = place + 1;
      while (ids.has(`${kind[0]}${number}`)) number += 1;
      full.id = `${kind[0]}${number}`;
      ids.add(full.id);
    }
    return full;
  });
}

/** Fields of forms: a label, the control, a hint, and what is wrong with it. */

import { h, newId } from "../dom.js";

/** Give a control under its label; `hint` is read with it. */
export function field(label, control, hint = null) {
  control.id ||= newId("field");
  control.dataset.field = label;
  const said = hint ? h("p", { class: "hint", id: newId("hint") }, hint) : null;
  if (said) control.setAttribute("aria-describedby", said.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, said);
}

/** Draw a place anew and leave the focus on the field of the same name. */
export function keepingFocus(place, redraw) {
  const name = place.contains(document.activeElement) ? document.activeElement.dataset.field : null;
  redraw();
  if (name) fieldOf(place, name)?.focus();
}

/** Give the control of a field by its label. */
export const fieldOf = (place, label) => place.querySelector(`[data-field="${CSS.escape(label)}"]`);

/** Give a select of [value, label] pairs. */
export function choice(options, chosen, onchange) {
  return h("select", { onchange: (event) => onchange?.(event.target.value) },
    options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
}

/** Give the pairs of a select of names, and before them one that means no choice. */
export const options = (first, names) => [["", first], ...names.map((name) => [name, name])];

/** Give a text field that tells what was typed when one leaves it. */
export const entry = (value, placeholder, onchange) =>
  h("input", { type: "text", value: value ?? "", placeholder, autocomplete: "off", spellcheck: "false",
    onchange: (event) => onchange(event.target.value.trim()) });

/** Give a search field without a visible label. */
export const search = (label, value, oninput) =>
  h("input", { type: "search", "aria-label": label, placeholder: `${label}  /`, value, autocomplete: "off",
    spellcheck: "false", oninput: (event) => oninput(event.target.value) });

/** Give a group of radio buttons that looks like one control. */
export function segments(label, options, chosen, onchange) {
  const name = newId("segments");
  return h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, label),
    options.map(([value, word]) => h("label", null,
      h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
      h("span", null, word))));
}

/** Give a button that copies a text and says so. */
export function copyButton(content) {
  const button = h("button", { type: "button", class: "quiet", onclick: copy }, "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(content);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy by hand";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  }
  return button;
}

/** Objects as JSON text that people write and read. */

/** What was typed cannot be read. */
export class FormError extends Error {
  constructor(message, control) {
    super(message);
    Object.assign(this, { title: "The case cannot be read", detail: message, control });
  }
}

/** Give the object that stands in a text field. */
export function parsed(area, label) {
  area.removeAttribute("aria-invalid");
  try {
    const found = JSON.parse(area.value);
    if (typeof found !== "object" || found === null || Array.isArray(found)) throw new SyntaxError("it is no object in { }");
    return found;
  } catch (error) {
    area.setAttribute("aria-invalid", "true");
    throw new FormError(`${label}: ${error.message}`, area);
  }
}

/** Write an object; a list of plain values stays on one line. */
export const written = (content) => lines(content, "");

function lines(content, indent) {
  if (content === null || typeof content !== "object") return JSON.stringify(content);
  const entries = Object.entries(content).filter(([, value]) => value !== undefined);
  const flat = entries.every(([, value]) => value === null || typeof value !== "object");
  const list = Array.isArray(content);
  const parts = entries.map(([key, value]) => `${list ? "" : `${JSON.stringify(key)}: `}${lines(value, `${indent}  `)}`);
  const [open, close] = list ? "[]" : "{}";
  if (!entries.length || (list && flat)) return `${open}${parts.join(", ")}${close}`;
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
}

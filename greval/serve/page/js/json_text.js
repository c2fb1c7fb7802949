/** Objects as JSON text that people write and read. */

/** A case that cannot be read, with the name of the field that is wrong. */
export class FormError extends Error {
  constructor(message, field) {
    super(message);
    Object.assign(this, { title: "The case cannot be read", detail: message, field });
  }
}

/** Parse the text of a field as an object. */
export function parseObject(text, label, field) {
  try {
    const found = JSON.parse(text);
    if (typeof found !== "object" || found === null || Array.isArray(found)) throw new SyntaxError("it is no object in { }");
    return found;
  } catch (error) {
    throw new FormError(`${label}: ${error.message}`, field);
  }
}

/** Format an object; a list of plain values stays on one line. */
export const formatObject = (content) => formatIndented(content, "");

function formatIndented(content, indent) {
  if (content === null || typeof content !== "object") return JSON.stringify(content);
  const entries = Object.entries(content).filter(([, value]) => value !== undefined);
  const flat = entries.every(([, value]) => value === null || typeof value !== "object");
  const list = Array.isArray(content);
  const parts = entries.map(([key, value]) =>
    `${list ? "" : `${JSON.stringify(key)}: `}${formatIndented(value, `${indent}  `)}`);
  const [open, close] = list ? "[]" : "{}";
  if (!entries.length || (list && flat)) return `${open}${parts.join(", ")}${close}`;
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
}

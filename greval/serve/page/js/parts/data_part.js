/** The cases of a run: a file to upload, or a data set that is there. */

import { path, upload } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { bytes, count, counted, date } from "../format.js";
import { choice, field } from "./field.js";
import { notice, problemBox } from "./problem.js";

const TYPES = {
  jsonl: "application/jsonl",
  ndjson: "application/x-ndjson",
  json: "application/json",
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
};
const ENDINGS = Object.keys(TYPES).map((ending) => `.${ending}`);
const MOST_FAULTS = 5;

/** Give {element, chosen()}: where the cases come from; `chosen` gives the id of a data set, or null. */
export function dataPart(datasets, wanted, signal) {
  const part = new DataPart(datasets, signal);
  if (datasets.some(({ id }) => id === wanted)) part.choose(wanted);
  return part;
}

class DataPart {
  #chosen = null;
  #told = h("div", { class: "stack-small", role: "status" });

  constructor(datasets, signal) {
    Object.assign(this, { datasets, signal });
    this.known = choice([["", "A data set that is there…"], ...datasets.map(option)], "", (id) => this.choose(id || null));
    this.element = h("div", { class: "stack" }, this.#drop(), datasets.length ? field("Or", this.known) : null, this.#told);
  }

  chosen() {
    return this.#chosen;
  }

  /** Take a data set that is there. */
  choose(id) {
    this.#chosen = id;
    this.known.value = id ?? "";
    fill(this.#told, id ? datasetTold(this.datasets.find((one) => one.id === id)) : null);
  }

  #drop() {
    const send = ([file]) => file && this.#send(file);
    const input = h("input", { type: "file", id: "file", accept: ENDINGS.join(","), onchange: () => send(input.files) });
    const dropped = (event) => {
      event.preventDefault();
      send(event.dataTransfer.files);
    };
    return h("label", { class: "drop", for: "file", ondragover: (event) => event.preventDefault(), ondrop: dropped },
      h("span", null, "Choose a file, or drop it here"),
      h("span", { class: "soft small" }, "JSONL, JSON, CSV or Parquet; one case a row"), input);
  }

  async #send(file) {
    this.choose(null);
    const type = TYPES[file.name.split(".").pop().toLowerCase()];
    if (!type) return fill(this.#told, problemBox(otherKind(file)));
    fill(this.#told, h("p", { class: "soft" }, `Reading ${file.name} (${bytes(file.size)})…`));
    try {
      const dataset = await upload(path("/v1/datasets", { name: plain(file.name) }), file, type, this.signal);
      this.#chosen = dataset.id;
      fill(this.#told, datasetTold(dataset));
      announce(`${file.name}: ${counted(dataset.cases, "case")} read`);
    } catch (error) {
      if (!this.signal.aborted) fill(this.#told, problemBox(error));
    }
    return null;
  }
}

const otherKind = ({ name }) => ({ title: "This kind of file is not read", detail: `${name}: give ${ENDINGS.join(", ")}.` });

const option = ({ id, name, cases, created }) => [id, `${name}, ${counted(cases, "case")}, ${date(created)}`];

/** Give a name that the server takes. */
const plain = (name) =>
  name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "").slice(0, 48) || "data";

function datasetTold({ name, cases, bytes: size, fields, ignored, unread, unread_count: many }) {
  const mapping = Object.entries(fields ?? {}).map(([from, to]) => `${from} → ${to}`);
  return [
    h("p", null, h("strong", null, counted(cases, "case")), ` in ${name}, ${bytes(size)}`),
    mapping.length ? h("p", { class: "small soft" }, `Read as: ${mapping.join(", ")}`) : null,
    ignored?.length ? h("p", { class: "small soft" }, `Not read: ${ignored.join(", ")}`) : null,
    many ? notice("warn", h("p", null, `${counted(many, "row")} cannot be read and will be passed over:`),
      h("ul", { class: "faults" },
        unread.slice(0, MOST_FAULTS).map(({ place, message }) => h("li", { dir: "auto" }, `${place}: ${message}`)),
        many > MOST_FAULTS ? h("li", null, `and ${count(many - MOST_FAULTS)} more`) : null)) : null,
  ];
}

/** The files that the server reads, by their endings: cases, verdicts and labels are all tables or JSON. */

const TYPES = {
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  parquet: "application/vnd.apache.parquet",
  jsonl: "application/jsonl",
  ndjson: "application/x-ndjson",
  json: "application/json",
};
const ENDINGS = Object.keys(TYPES).map((ending) => `.${ending}`);

/** The endings, as the attribute `accept` of a field for files. */
export const ACCEPTED = ENDINGS.join(",");

/** Return the type of a file by its ending; throw the problem to show if it is not read. */
export function findFileType(file) {
  const type = TYPES[file.name.split(".").pop().toLowerCase()];
  if (!type) throw { title: "This kind of file is not read", detail: `${file.name}: give ${ENDINGS.join(", ")}.` };
  return type;
}

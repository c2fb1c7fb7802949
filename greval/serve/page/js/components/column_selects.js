/** Which column of a file is the id, the method, the question and so on: selects that hold what was read. */

import { html } from "../html.js";
import { Field, Select } from "./fields.js";

const FIELDS = [
  ["id", "Id of the question"], ["method", "Method"], ["question", "Question"], ["answer", "Answer"], ["expected_answer", "Expected answer"],
];

/** Return the names of all columns of a file, and the column of each field, as it was read or refused. */
function readColumns({ read_columns: read = {}, ignored = [], columns = {} }) {
  if (Array.isArray(columns)) return { names: columns, byField: {} }; // of a file that was refused
  const byField = Object.fromEntries(Object.entries(read).map(([column, field]) => [field, column]));
  return { names: [...new Set([...Object.keys(read), ...ignored, ...Object.values(columns)])], byField: { ...byField, ...columns } };
}

/**
 * The selects.
 * @param {Object} file the data set, or the problem of a file of which no row is a case
 * @param {Object} chosen the column of each field that somebody chose
 * @param {Function} onChoose called with the columns by field, to read the file by them
 */
export function ColumnSelects({ file, chosen, onChoose }) {
  const { names, byField } = readColumns(file);
  if (!names.length) return null;
  const choose = (field, column) => {
    const { [field]: _, ...others } = chosen;
    onChoose(column === null ? others : { ...others, [field]: column });
  };
  return html`
    <fieldset class="column-selects">
      <legend class="small soft">Columns of the file</legend>
      ${FIELDS.map(([field, label]) => {
        const column = chosen[field] ?? byField[field] ?? null;
        const isOptional = column === null || field in chosen; // what the reader knows by itself it reads in any case
        return html`
          <${Field} key=${field} label=${label}>
            <${Select} options=${[...(isOptional ? [[null, "no column"]] : []), ...names.map((name) => [name, name])]} value=${column}
              onChange=${(name) => choose(field, name)} />
          <//>`;
      })}
    </fieldset>`;
}

/** What judging one case gave: what could not be read, how many results, and each verdict beside its item. */

import { h } from "../dom.js";
import { counted } from "../format.js";
import { caseSheets } from "./material.js";
import { notice, problemBox } from "./problem.js";

/** Give the answer of the server for one case. */
export function judged(given, { results, unread, notice: told }, known) {
  return [
    told ? notice("plain", h("p", null, told)) : null,
    unread?.length ? problemBox({ title: "This is no case", detail: unread.map((row) => row.message).join("\n") }) : null,
    results.length ? h("p", { class: "soft" }, summaryOf(results)) : null,
    results.length ? caseSheets(placed(given), results, known, { asked: false }) : null,
  ];
}

/** Say how many results are scored, skipped and failed. */
export function summaryOf(results) {
  const of = (status) => results.filter(({ outcome }) => outcome.status === status).length;
  const parts = ["scored", "skipped", "failed"].filter(of).map((status) => `${of(status)} ${status}`);
  return `${counted(results.length, "result")}: ${parts.join(", ")}`;
}

/** Give the case in the form in which it was judged: items with ids, fields by greval's names. */
function placed(given) {
  const chunks = given.chunks ?? given.retrieved_contexts ?? given.retrieval_context ?? given.contexts;
  return { ...given, chunks: chunks?.map(chunkOf), triples: given.triples?.map(tripleOf) };
}

const chunkOf = (one, place) => ({ id: `c${place + 1}`, ...(typeof one === "string" ? { text: one } : one) });

const tripleOf = (one, place) =>
  ({ id: `t${place + 1}`, ...(Array.isArray(one) ? { subject: one[0], predicate: one[1], object: one[2] } : one) });

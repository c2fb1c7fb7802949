/**
 * Requests the cases of a run as soon as the address is known: the server computes them while the browser reads the other
 * modules. This module imports only what it needs for that.
 */

import { keyHeaders, takeToken } from "./key_store.js";

const CASES = /^#\/?runs\/([^/?]+)\?(?:.*&)?tab=(?:cases|results)(?:&|$)/;
const responses = new Map();

takeToken();
const found = CASES.exec(location.hash);
if (found) begin(`/v1/runs/${found[1]}/grid`);

function begin(url) {
  const options = { headers: { Accept: "application/json", ...keyHeaders() }, cache: "no-store", redirect: "error", priority: "high" };
  responses.set(url, fetch(url, options).catch(() => null));
}

/** Return the response to an early request, the first time that it is asked for; null if there is none or it failed. */
export async function takeEarlyResponse(url) {
  const response = responses.get(url);
  responses.delete(url);
  return (await response) ?? null;
}

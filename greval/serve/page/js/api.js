/** Requests to the server that the page came from, and their errors as the server tells them. */

import { takeEarlyResponse } from "./early_request.js";
import { askKey } from "./key.js";
import { keyHeaders } from "./key_store.js";

const KEPT_MS = 60_000; // how long a browser may take to begin to save a file
const NOT_JSON = "The server's answer cannot be read. Is something else in between, such as a proxy?";
const NOT_SAID = "The answer does not say why. Something between the page and the server, such as a proxy, may have sent it.";

/** An answer that is no success: what the server said of it. */
export class Problem extends Error {
  constructor({ title, status = 0, code = "", detail, faults = [], columns = [], request_id: requestId = "" }) {
    super(detail || title);
    Object.assign(this, { title, status, code, detail, faults, columns, requestId });
  }
}

/** Give the path with a query; lists become repeated names, null is left out. */
export function path(base, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null) params.append(name, one);
    }
  }
  const text = params.toString();
  return text ? `${base}?${text}` : base;
}

/** A part of a path that is a name. */
export const name = encodeURIComponent;

/** Send a request; asks for a key where one is wanted. Gives the response of a success. */
export async function send(method, url, { body, type, accept, ifMatch, signal } = {}) {
  for (;;) {
    const key = keyHeaders();
    const headers = { Accept: accept ?? "application/json", ...key };
    if (type) headers["Content-Type"] = type;
    if (ifMatch) headers["If-Match"] = ifMatch;
    const early = method === "GET" ? await takeEarlyResponse(url) : null;
    signal?.throwIfAborted();
    const response = early ?? (await fetchResponse(url, { method, headers, body, signal }));
    if (response.ok) return response;
    const problem = await readProblem(response);
    if (response.status !== 401) throw problem;
    const changed = keyHeaders().Authorization !== key.Authorization; // somebody gave one meanwhile
    if (!changed && !(await askKey())) throw problem;
  }
}

async function fetchResponse(url, options) {
  try {
    return await fetch(url, { ...options, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "The server cannot be reached", detail: "Is it still running? Try again when it is." });
  }
}

async function readProblem(response) {
  const problem = await response.json().catch(() => ({}));
  return new Problem({
    title: problem.title ?? "The request failed",
    status: response.status,
    code: problem.code,
    detail: typeof problem.detail === "string" ? problem.detail : NOT_SAID,
    faults: Array.isArray(problem.faults) ? problem.faults : [],
    columns: Array.isArray(problem.columns) ? problem.columns : [],
    request_id: problem.request_id,
  });
}

async function json(response) {
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "Not JSON", status: response.status, detail: NOT_JSON });
  }
}

/** Read something. */
export const get = async (url, query, signal) => json(await send("GET", path(url, query), { signal }));

/** Send JSON. */
export const post = async (url, content, signal) =>
  json(await send("POST", url, content === undefined
    ? { signal }
    : { body: JSON.stringify(content), type: "application/json", signal }));

/** Save a file of the server under the name that it gives; the key, if there is one, goes with the request. */
export async function download(url, query) {
  const response = await send("GET", path(url, query), { accept: "*/*" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = readFileName(response.headers.get("Content-Disposition")) ?? url.split("/").at(-1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

function readFileName(disposition) {
  const encoded = /filename\*=utf-8''([^;]+)/i.exec(disposition);
  return encoded ? decodeURIComponent(encoded[1]) : /filename="([^"]+)"/.exec(disposition)?.[1];
}

/** Send a file as it is. */
export const upload = async (url, file, type, signal) => json(await send("POST", url, { body: file, type, signal }));

/** Delete something. */
export const remove = async (url, signal) => json(await send("DELETE", url, { signal }));

/**
 * Read an SVG as a document, whose nodes can be shown; with content, which is sent as JSON, it is drawn from that. Only
 * XMLHttpRequest parses without trusted types, and scripts in what it parses never run.
 */
export const getDocument = (url, content, signal) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open(content ? "POST" : "GET", url);
  request.responseType = "document";
  for (const [header, value] of Object.entries(keyHeaders())) request.setRequestHeader(header, value);
  const fail = () => reject(new Problem({
    title: "The picture cannot be shown", status: request.status, detail: "The server did not send it. Try again.",
  }));
  request.addEventListener("load", () => (request.status === 200 && request.response ? resolve(request.response) : fail()));
  request.addEventListener("error", fail);
  signal.addEventListener("abort", () => request.abort());
  if (content) request.setRequestHeader("Content-Type", "application/json");
  request.send(content ? JSON.stringify(content) : null);
});

/** Read something that may be changed: its content, and its entity tag. */
export async function getTagged(url, signal) {
  const response = await send("GET", url, { signal });
  return { content: await json(response), etag: response.headers.get("ETag") };
}

/** Send JSON to change something, unless it changed since it had this entity tag; null is no condition. */
export async function postTagged(url, content, ifMatch, signal) {
  const sent = content === undefined ? {} : { body: JSON.stringify(content), type: "application/json" };
  const response = await send("POST", url, { ...sent, ifMatch, signal });
  return { content: await json(response), etag: response.headers.get("ETag") };
}

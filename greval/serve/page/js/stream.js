/** Server-sent events over fetch: unlike EventSource it can carry the key. */

import { send } from "./api.js";

const MOST_TRIES = 30; // some minutes: enough for a server that is started again
const [FIRST_WAIT, LONGEST_WAIT] = [500, 8000];

/** Give the events of a stream as they come: {event, data}, the data read as JSON. */
export async function* events(url, signal) {
  const response = await send("GET", url, { accept: "text/event-stream", signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = read(block);
      if (event) yield event;
    }
  }
}

/** Read one block; null for a comment, such as a heartbeat. */
function read(block) {
  const fields = { event: "message", data: [] };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const content = line.slice(at + 1).replace(/^ /, "");
    if (line.slice(0, at) === "data") fields.data.push(content);
    else fields[line.slice(0, at)] = content;
  }
  return fields.data.length ? { event: fields.event, data: JSON.parse(fields.data.join("\n")) } : null;
}

/**
 * Follow a run until it ends: `onProgress(progress)` for each step.
 * Gives what the server said at the end; connects again where the stream breaks off.
 */
export async function follow(run, onProgress, signal) {
  const url = `/v1/runs/${encodeURIComponent(run)}/events`;
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      for await (const { event, data } of events(url, signal)) {
        tries = 0;
        if (event === "progress") onProgress(data);
        if (event === "end") return data;
      }
    } catch (error) {
      if (signal.aborted || error.status >= 400 || tries >= MOST_TRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** tries)));
  }
  return null;
}

/** The walk of a case as the server draws it, with the texts that its nodes and edges have when they are pointed at. */

import { useEffect, useRef, useState } from "../../vendor/preact_hooks.js";
import { getDocument, name as part, path } from "../api.js";
import { html } from "../html.js";
import { Problem } from "./notices.js";

const NOTHING_TO_DRAW = 404;

/** The drawing of a case of a run; nothing if it has no walk. */
export const WalkPicture = ({ run, id, method }) =>
  html`<${Drawing} url=${path(`/v1/runs/${part(run)}/walk.svg`, { sample_id: id, method })} />`;

/** The drawing of a case that is in no run: its question, its traversal and its gold. */
export const SentWalkPicture = ({ given: { question = "", traversal, gold } }) =>
  html`<${Drawing} url="/v1/walk.svg" content=${JSON.stringify({ input: { question, traversal, gold } })} />`;

function Drawing({ url, content = null }) {
  const place = useRef(null);
  const [state, setState] = useState({ shown: false, error: null });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    getDocument(url, JSON.parse(content), signal).then(
      (drawing) => {
        if (!place.current) return; // preact cleans effects up after a view is gone, and the drawing came in between
        place.current.replaceChildren(document.importNode(drawing.documentElement, true));
        setState({ shown: true, error: null });
      },
      (error) => signal.aborted || setState({ shown: false, error: error.status === NOTHING_TO_DRAW ? null : error }),
    );
    return () => controller.abort();
  }, [url, content]);
  return html`
    ${state.error && html`<${Problem} error=${state.error} />`}
    <div class="walk-picture" ref=${place} hidden=${!state.shown} tabindex="0" role="region" aria-label="Picture of the walk" />`;
}

/** Templates that become elements of components. */

import { default as htm } from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

/** Make elements of a template. Data only ever becomes text nodes and attributes, never markup. */
export const html = htm.bind(h);

/** A figure with its interval on an axis that several rows share. */

import { h } from "../dom.js";

const [WIDTH, HEIGHT, PAD] = [240, 22, 6];

/** Give the lowest and highest number that the axis must hold. */
export function axis(figures, ends = null) {
  const all = figures.flatMap(({ at, low, high }) => [at, low, high]).filter((number) => typeof number === "number");
  if (ends) return ends;
  if (!all.length) return [0, 1];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Give the picture of a figure: a line for the interval, a point for the figure, a mark at `zero`. */
export function interval({ at, low, high }, [from, to], { zero = null, tone = "", told }) {
  const x = (number) => PAD + (WIDTH - 2 * PAD) * Math.min(1, Math.max(0, (number - from) / (to - from || 1)));
  const y = HEIGHT / 2;
  return h("svg", { class: `interval ${tone}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told },
    h("line", { class: "axis", x1: PAD, x2: WIDTH - PAD, y1: y, y2: y }),
    zero === null ? null : h("line", { class: "zero", x1: x(zero), x2: x(zero), y1: 1, y2: HEIGHT - 1 }),
    typeof low === "number" ? h("line", { class: "range", x1: x(low), x2: x(high), y1: y, y2: y }) : null,
    typeof low === "number" ? [low, high].map((end) => tick(x(end), y)) : null,
    typeof at === "number" ? h("circle", { class: "point", cx: x(at), cy: y, r: 4.5 }) : null);
}

const tick = (x, y) => h("line", { class: "range", x1: x, x2: x, y1: y - 4, y2: y + 4 });

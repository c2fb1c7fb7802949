/** Numbers, times and counts as people read them. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A count. */
export const count = (number) => WHOLE.format(number ?? 0);

/** A count with its word. */
export const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** A number of any size: three digits that count, and all those before the point. */
export function figure(number) {
  if (number === null || number === undefined) return "–";
  if (Math.abs(number) >= 1000) return WHOLE.format(number);
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(3)));
}

/** A mean and its interval's ends, all with the same decimals. */
export function decimals(...numbers) {
  const size = Math.max(...numbers.map(Math.abs).filter(Number.isFinite), 0);
  const places = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 || size === 0 ? 2 : 4;
  return (number) => {
    const text = number.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
}

/** A mean with its interval, if it has one. */
export function formatMean({ mean, interval }) {
  if (mean === null) return "–";
  const write = decimals(mean, interval?.low, interval?.high);
  return interval ? `${write(mean)} [${write(interval.low)}, ${write(interval.high)}]` : write(mean);
}

/** A number with its sign. */
export const signed = (write, number) => (number > 0 ? `+${write(number)}` : write(number));

/** A share of one. */
export const percent = (share) => `${Math.round(100 * share)} %`;

/** A p value in short. */
export const pValue = (p) => (p < 0.0001 ? "<0.0001" : p >= 0.995 ? "1" : String(Number(p.toPrecision(2))));

/** Seconds as a time; number and unit stay on one line. */
export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 10) return `${value.toFixed(1)}\u00a0s`;
  if (value < 90) return `${Math.round(value)}\u00a0s`;
  if (value < 5400) return `${Math.round(value / 60)}\u00a0min`;
  return `${(value / 3600).toFixed(1)}\u00a0h`;
}

/** A point in time, from ISO text or seconds since 1970. */
export function date(value) {
  const when = new Date(typeof value === "number" ? value * 1000 : value);
  return value && !Number.isNaN(when.getTime()) ? DATE.format(when) : "–";
}

/** Bytes. */
export function bytes(value) {
  for (const [size, word] of [[2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${word}`;
  }
  return `${count(value)} B`;
}

/** US dollars. */
export const dollars = (value) => `$${value < 1 ? value.toFixed(4) : value.toFixed(2)}`;

/** Return the turns before the question as a text. */
export const formatHistory = (turns) => turns.map(({ role, text, content }) => `${role}: ${text ?? content}`).join("\n");

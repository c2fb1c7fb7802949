/** Whether a metric fits what someone searches for. */

/** Say whether every word is in the metric's name or description. */
export function matches(metric, words) {
  const content = `${metric.name} ${metric.name.replaceAll("_", " ")} ${metric.description}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => content.includes(word));
}

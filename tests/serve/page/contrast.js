/* Gives the texts of a page whose contrast with what is behind them is below 4.5 (3 for large ones), as WCAG AA has it. */
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = (colour) => {
    const [r, g, b] = colour.map((part) =>
      part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const faults = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (
      !walker.currentNode.data.trim() ||
      element.closest("svg, .unseen, .skip, option, noscript") ||
      !element.checkVisibility()
    )
      continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const [one, other] = [light(over(rgba(style.color), ground)), light(ground)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const large =
      parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5))
      faults.add(`${ratio.toFixed(2)} ${element.className}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  return [...faults];
};

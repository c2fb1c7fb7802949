/* The script of a report: the theme, and the list of all cases with filters, order and search.
   Data becomes text nodes. The only markup that is made of text are the details of a case, which the templates of
   greval escaped, and the policy of the page runs no script in them. */
"use strict";
(() => {
  const PAGE = 50;
  const MOST_VALUES = 12;
  const TEXT = /class="text[^"]*"[^>]*>([^<]*)</g;
  const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" };
  const WORDINGS = {
    cases: {
      nouns: ["case", "cases"],
      name: "Method",
      orders: { run: "as in the run", worst: "worst first", best: "best first", id: "by id" },
      values: [["", "all"], ["?scored", "scored"], ["?failed", "failed"], ["?skipped", "skipped"], ["?below", "below the best"]],
    },
    changes: {
      nouns: ["question", "questions"],
      name: "Compared",
      orders: { run: "largest difference first", worst: "lost first", best: "won first", id: "by id" },
      values: [["", "won and lost"], ["=lost", "lost"], ["=won", "won"]],
    },
  };
  const policy = globalThis.trustedTypes?.createPolicy("greval-fragments", { createHTML: (text) => text })
    ?? { createHTML: (text) => text };
  const byId = (id) => document.getElementById(id);

  function h(name, props, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(props ?? {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }
  const data = (text) => h("bdi", null, String(text));

  /* Light or dark: as the system has it, until someone chooses. */
  function startTheme() {
    const button = byId("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const root = document.documentElement;
      const dark = root.classList.contains("dark")
        || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
      root.classList.toggle("dark", !dark);
      root.classList.toggle("light", dark);
    });
  }

  /* A link to a folded case opens it; printing opens all that are in the page. */
  function startFolds() {
    const open = () => {
      const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
      if (target instanceof HTMLDetailsElement) {
        target.open = true;
        target.scrollIntoView();
      }
    };
    addEventListener("hashchange", open);
    open();
    let folded = [];
    addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll("main > section:not(#cases) details:not([open])")];
      for (const one of folded) one.open = true;
    });
    addEventListener("afterprint", () => {
      for (const one of folded) one.open = false;
    });
  }

  /* Compressed blocks: base64 of zlib, decompressed when they are needed. */
  async function unpack(node) {
    const binary = atob(node.textContent);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function blockReader(selector) {
    const nodes = document.querySelectorAll(selector);
    const found = new Map();
    return (number) => {
      if (!found.has(number)) {
        if (found.size >= 40) found.delete(found.keys().next().value);
        found.set(number, unpack(nodes[number]));
      }
      return found.get(number);
    };
  }

  function textReader(starts) {
    const read = blockReader('script[data-part="texts"]');
    return async (number) => {
      let [low, high] = [0, starts.length - 1];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (starts[middle] <= number) low = middle;
        else high = middle - 1;
      }
      return (await read(low))[number - starts[low]];
    };
  }

  class Explorer {
    constructor({ kind = "cases", metrics, cases, textStarts }) {
      this.wording = WORDINGS[kind];
      this.metrics = metrics;
      this.cases = cases.map(([id, method, question, answer, tags, cells, place], number) =>
        ({ id, method, question, answer, tags, cells, place, number,
          words: [id, method, question, answer, ...Object.values(tags)].join("\n").toLocaleLowerCase() }));
      this.details = blockReader('script[data-part="cases"]');
      this.text = textReader(textStarts);
      this.state = { words: "", method: "", tag: "", metric: "", value: "", order: "run" };
      this.at = 0;
    }

    start() {
      this.buildFilters();
      this.apply();
    }

    buildFilters() {
      const form = byId("filters");
      const methods = [...new Set(this.cases.map(({ method }) => method))].sort();
      this.value = h("select", { onchange: (event) => this.set("value", event.target.value) });
      form.append(
        this.field("Search", h("input", { type: "search", placeholder: "id, question, answer, tag or reason", autocomplete: "off",
          oninput: (event) => this.set("words", event.target.value) }), "wide"),
        methods.length > 1 ? this.field(this.wording.name, this.choice("method", [["", "all"], ...methods.map((name) => [`=${name}`, name || "(none)"])])) : "",
        this.tags().length ? this.field("Tag", this.choice("tag", [["", "all"], ...this.tags()])) : "",
        this.field("Metric", this.choice("metric", [["", "any"], ...this.metrics.map((name, place) => [String(place), name])])),
        this.field("Value", this.value),
        this.field("Order", this.choice("order", Object.entries(this.wording.orders))));
      form.addEventListener("submit", (event) => event.preventDefault());
      this.fillValues();
      form.hidden = false;
    }

    field(name, control, kind = "") {
      control.id = `filter-${name.toLowerCase()}`;
      return h("div", { class: kind }, h("label", { for: control.id }, name), control);
    }

    choice(name, options) {
      return h("select", { onchange: (event) => this.set(name, event.target.value) },
        options.map(([value, text]) => h("option", { value }, text)));
    }

    /* Tags with few values, as pairs of a key and a text. */
    tags() {
      const values = new Map();
      for (const { tags } of this.cases) {
        for (const [name, value] of Object.entries(tags)) {
          if (!values.has(name)) values.set(name, new Set());
          if (values.get(name).size <= MOST_VALUES) values.get(name).add(value);
        }
      }
      return [...values].filter(([, found]) => found.size > 1 && found.size <= MOST_VALUES)
        .flatMap(([name, found]) => [...found].sort().map((value) => [JSON.stringify([name, value]), `${name}: ${value}`]));
    }

    /* The values of the chosen metric; without one, how a result ended. */
    fillValues() {
      const metric = this.state.metric;
      const found = new Map();
      for (const { cells } of metric === "" ? [] : this.cases) {
        const cell = cells[metric];
        if (cell) found.set(cell[0], (found.get(cell[0]) ?? 0) + 1);
      }
      const { values } = this.wording;
      const listed = found.size <= 30
        ? [...found].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).map(([text, many]) => [`=${text}`, `${text} (${many.toLocaleString("en")})`])
          .filter(([value]) => values.every(([one]) => one !== value))
        : [];
      this.value.replaceChildren(...[...values, ...listed].map(([value, text]) => h("option", { value }, text)));
      this.state.value = "";
    }

    set(name, value) {
      this.state[name] = value;
      if (name === "metric") this.fillValues();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.apply(), name === "words" ? 120 : 0);
    }

    matches(one) {
      const { words, method, tag, value } = this.state;
      if (method && one.method !== method.slice(1)) return false;
      if (tag) {
        const [name, wanted] = this.tag;
        if (!Object.hasOwn(one.tags, name) || one.tags[name] !== wanted) return false;
      }
      if (value && !this.cellsOf(one).some((cell) => cell && holds(cell, value))) return false;
      return this.needles.every((needle) => one.words.includes(needle) || one.texts?.includes(needle));
    }

    /* The first search reads the texts and reasons of all cases once, block by block; it finds more when they are read. */
    async readTexts() {
      for (const one of this.cases) {
        if (!one.place) continue;
        const [block, place] = one.place;
        one.texts = listTexts((await this.details(block))[place]).join("\n").toLocaleLowerCase();
      }
      this.read = true;
      const before = this.found;
      this.filter();
      if (this.found.length === before.length) this.showCount();
      else this.show();
    }

    cellsOf(one) {
      return this.state.metric === "" ? one.cells : [one.cells[this.state.metric]];
    }

    /* How good a case is by the chosen metric, or by the mean of its tones. */
    rank(one) {
      if (this.state.metric !== "") return one.cells[this.state.metric]?.[1] ?? null;
      const tones = one.cells.filter((cell) => typeof cell?.[2] === "number").map((cell) => cell[2]);
      return tones.length ? tones.reduce((sum, tone) => sum + tone, 0) / tones.length : null;
    }

    apply() {
      this.filter();
      this.at = 0;
      this.show();
      if (this.needles.length) this.reading ??= this.readTexts();
    }

    filter() {
      const { words, tag, order } = this.state;
      this.needles = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      this.tag = tag ? JSON.parse(tag) : null;
      this.found = this.cases.filter((one) => this.matches(one));
      if (order === "id") this.found.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
      if (order === "worst" || order === "best") {
        const sign = order === "worst" ? 1 : -1;
        const ranks = new Map(this.found.map((one) => [one, this.rank(one)]));
        this.found.sort((a, b) => compareRanks(ranks.get(a), ranks.get(b), sign) || a.number - b.number);
      }
    }

    /* The begin and the end of the page of the list, after its numbers are shown. */
    showCount() {
      const [from, to] = [this.at, Math.min(this.at + PAGE, this.found.length)];
      const [many, all] = [this.found.length, this.cases.length].map((count) => count.toLocaleString("en"));
      const noun = this.wording.nouns[this.cases.length === 1 ? 0 : 1];
      const shown = to - from < this.found.length ? `, ${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")} shown` : "";
      const reading = this.needles.length && !this.read ? "; searching the reasons..." : "";
      byId("count").textContent = `${many} of ${all} ${noun}${shown}${reading}`;
      return [from, to];
    }

    show() {
      const [from, to] = this.showCount();
      byId("list").replaceChildren(...this.found.slice(from, to).map((one) => this.row(one)));
      const turn = (by) => () => {
        this.at += by;
        this.show();
        byId("count").scrollIntoView();
      };
      const pager = byId("pager");
      pager.hidden = this.found.length <= PAGE;
      const back = h("button", { type: "button", onclick: turn(-PAGE) }, "Previous");
      const next = h("button", { type: "button", onclick: turn(PAGE) }, "Next");
      back.disabled = from === 0;
      next.disabled = to === this.found.length;
      pager.replaceChildren(back, next);
    }

    row(one) {
      const body = h("div", { class: "case-body" });
      const node = h("details", { class: "case" },
        h("summary", null,
          h("h3", null, h("span", { class: "mono small" }, data(one.id)), " ",
            one.method ? h("span", { class: "soft small" }, data(one.method), " ") : "",
            data(one.question)),
          h("span", { class: "row-values" }, one.cells.map((cell, place) => cell && h("span", null,
            h("span", { class: "metric-name" }, data(this.metrics[place])),
            h("span", { class: `value tone-${cell[2]}` }, data(cell[0])))))),
        body);
      node.addEventListener("toggle", () => {
        if (node.open && !body.hasChildNodes()) this.fill(body, one);
      });
      return node;
    }

    async fill(body, one) {
      if (!one.place) {
        body.replaceChildren(h("p", { class: "soft" }, `The details of this ${this.wording.nouns[0]} are not in this file, so that it stays small. The run has them.`));
        return;
      }
      const [block, place] = one.place;
      const template = document.createElement("template");
      template.innerHTML = policy.createHTML((await this.details(block))[place]);
      const found = template.content;
      await Promise.all([...found.querySelectorAll("[data-text]")].map(async (node) => {
        node.textContent = await this.text(Number(node.dataset.text));
      }));
      body.replaceChildren(found);
    }
  }

  /* The texts and reasons in the markup of a case. To parse the markup of ten thousand cases takes ten times as long. */
  function listTexts(markup) {
    return [...markup.matchAll(TEXT)].map(([, text]) => text.replace(/&(?:amp|lt|gt|#34|#39);/g, (entity) => ENTITIES[entity]));
  }

  function holds([text, , tone], value) {
    switch (value) {
      case "?scored": return tone !== "failed" && tone !== "skipped";
      case "?failed": return tone === "failed";
      case "?skipped": return tone === "skipped";
      case "?below": return typeof tone === "number" && tone < 4;
      default: return text === value.slice(1);
    }
  }

  function compareRanks(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (a - b);
  }

  async function startCases() {
    const index = byId("index");
    const ready = () => { document.documentElement.dataset.ready = "yes"; };
    if (!index) return ready();
    if (!globalThis.DecompressionStream) {
      byId("count").textContent = "This browser is too old to open the cases of this file; a current one can.";
      return ready();
    }
    new Explorer(await unpack(index)).start();
    ready();
  }

  startTheme();
  startFolds();
  startCases();
})();

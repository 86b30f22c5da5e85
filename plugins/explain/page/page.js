// Draws what `plugins.explain.html_page` was given: attributions as coloured words, attention head by head, and rollout.
"use strict";

const DARKEST = 60; // percent of the colour behind the word with the largest share, so that it stays readable
const CELL = 22; // pixels of a token's line in the head view
const MOST_LINES = 1500; // the strongest lines are drawn while no token is chosen
const COLORS = 12; // heads of more differ by their numbers alone

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const drawing = (name, attributes = {}, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
};

// Control characters would draw as nothing or turn the line around; they are shown by their code points.
const visible = (text) =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (character) =>
    `⟨${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

const short = (value) => (value === 0 || Math.abs(value) >= 0.01 ? value.toFixed(3) : value.toPrecision(2));
const signed = (value) => (value > 0 ? "+" : "") + short(value);
const headColor = (head, heads) => `hsl(${Math.round((360 * (head % COLORS)) / Math.min(heads, COLORS))} 65% 50%)`;

const tip = document.getElementById("tip");
let tipped = null; // the pointer may leave one place after the keyboard has reached another
const explainOn = (target, text) => {
  const show = () => {
    tipped = target;
    tip.textContent = text();
    tip.hidden = false;
    const box = target.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${box.bottom + 4 + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 4 : box.bottom + 4}px`;
  };
  const hide = () => { if (tipped === target) tip.hidden = true; };
  for (const name of ["pointerenter", "focus"]) target.addEventListener(name, show);
  for (const name of ["pointerleave", "blur"]) target.addEventListener(name, hide);
};

// --- coloured words

function drawWords(words, shares, most) {
  const box = element("p", { class: "words" });
  words.forEach(([text, second], number) => {
    if (number && second !== words[number - 1][1]) box.append(element("hr"));
    const share = shares[number];
    const strength = most ? Math.round((DARKEST * Math.abs(share)) / most) : 0;
    const span = element("span", { tabindex: "0", dir: "auto" }, visible(text));
    span.style.background = `color-mix(in srgb, var(--${share < 0 ? "less" : "more"}) ${strength}%, transparent)`;
    explainOn(span, () => `${visible(text)}  ${signed(share)}`);
    box.append(span, " ");
  });
  return box;
}

// The title of a card, with a button that saves what `picture` draws.
function titleBar(title, picture, ...controls) {
  const save = element("button", { type: "button" }, "Save as SVG");
  save.addEventListener("click", async () => saveSvg(await picture(), `${title}.svg`));
  return element("div", { class: "bar" }, element("h3", {}, visible(title)), ...controls, save);
}

function drawAttribution(attribution, most) {
  const card = element("div", { class: "card attribution" });
  const title = attribution.label || attribution.method;
  card.append(titleBar(title, () => wordsAsSvg(attribution.words, attribution.shares, most)));
  const gap = attribution.gap === null ? "" : ` Completeness gap ${(100 * attribution.gap).toFixed(2)} %.`;
  const baseline = attribution.baseline_score === null ? "" : `, ${short(attribution.baseline_score)} without the text`;
  const method = attribution.label ? ` ${attribution.method}.` : "";
  card.append(element("p", { class: "note" },
    `Score of ${visible(attribution.target)}: ${short(attribution.score)}${baseline}.${method}${gap}`));
  card.append(drawWords(attribution.words, attribution.shares, most));
  card.append(element("span", { class: "legend" }, signed(-most), element("i"), signed(most)));
  return card;
}

// Text is as wide in a file as a canvas measures it here.
function wordsAsSvg(words, shares, most) {
  const [width, pen] = [900, document.createElement("canvas").getContext("2d")];
  pen.font = "15px sans-serif";
  const picture = drawing("svg", { xmlns: "http://www.w3.org/2000/svg", "font-family": "sans-serif", "font-size": 15 });
  let [x, y] = [12, 28];
  words.forEach(([text], number) => {
    const size = pen.measureText(visible(text)).width + 8;
    if (x + size > width - 12 && x > 12) [x, y] = [12, y + 30];
    const share = shares[number];
    const fill = getComputedStyle(document.documentElement).getPropertyValue(share < 0 ? "--less" : "--more");
    picture.append(drawing("rect", { x, y: y - 18, width: size, height: 25, rx: 4, fill: solid(fill),
      "fill-opacity": most ? (DARKEST * Math.abs(share)) / (100 * most) : 0 }));
    picture.append(drawing("text", { x: x + 4, y }, visible(text)));
    x += size + 4;
  });
  picture.setAttribute("width", width);
  picture.setAttribute("height", y + 20);
  return picture;
}

// A colour of the page as other programs read it, without light-dark().
function solid(color) {
  const probe = element("i");
  probe.style.color = color;
  document.body.append(probe);
  const made = getComputedStyle(probe).color;
  probe.remove();
  return made;
}

function saveSvg(picture, name) {
  const content = new XMLSerializer().serializeToString(picture);
  const link = element("a", { download: name.replace(/[^\w.-]+/g, "_"), href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(content)}` });
  link.click();
}

// --- attention

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Weights {
  // Layers of square roots in whole numbers, of `bits` each, which are inflated when they are first looked at.
  constructor({ layers, heads, size, bits }) {
    Object.assign(this, { packed: layers, heads, size, bits, opened: [] });
  }

  get layers() { return this.packed.length; }

  async layer(number) {
    this.opened[number] ??= inflate(this.packed[number]); // the promise: thumbnails ask for a layer all at once
    const bytes = await this.opened[number];
    return (head, query, key) => {
      const place = (head * this.size + query) * this.size + key;
      const whole = this.bits === 8 ? bytes[place] : (bytes[place >> 1] >> (4 * (place & 1))) & 15;
      return (whole / (2 ** this.bits - 1)) ** 2;
    };
  }
}

class AttentionViews {
  constructor(attention) {
    this.attention = attention;
    this.prefix = attention.label ? `${attention.label}: ` : "";
    this.weights = new Weights(attention.weights);
    this.tokens = attention.tokens.map(visible);
    this.chosen = { layer: 0, heads: new Set(Array.from({ length: this.weights.heads }, (_, head) => head)) };
    this.thumbnails = new Map();
  }

  draw() {
    const bits = this.weights.bits;
    const precise = `Weights are rounded to ${bits} bits: within ${bits === 8 ? "0.004" : "0.07"}.`;
    return [this.drawHeads(precise), this.drawModel(), ...this.drawRollout()];
  }

  drawHeads(note) {
    const card = element("div", { class: "card heads-view" });
    this.select = element("select", { "aria-label": "layer" });
    for (let layer = 0; layer < this.weights.layers; layer++) this.select.append(element("option", { value: layer }, `layer ${layer}`));
    this.select.addEventListener("change", () => this.choose(Number(this.select.value), null));
    const squares = element("div", { class: "heads", role: "group", "aria-label": "heads; double click chooses one alone" });
    this.squares = Array.from({ length: this.weights.heads }, (_, head) => {
      const square = element("button", { type: "button", "aria-label": `head ${head}` }, String(head));
      square.style.background = square.style.borderColor = headColor(head, this.weights.heads);
      square.addEventListener("click", () => {
        const heads = new Set(this.chosen.heads);
        if (!heads.delete(head)) heads.add(head);
        this.choose(this.chosen.layer, heads);
      });
      square.addEventListener("dblclick", () => this.choose(this.chosen.layer, new Set([head])));
      squares.append(square);
      return square;
    });
    card.append(titleBar(`${this.prefix}Attention by head`, () => this.pictureForFile(), this.select, squares));
    this.picture = drawing("svg", { role: "img", "aria-label": "queries at the left, keys at the right" });
    this.note = element("p", { class: "note" });
    card.append(element("div", { class: "scroll" }, this.picture), this.note, element("p", { class: "note" }, note));
    card.addEventListener("keydown", (event) => {
      const [step, move] = [{ ArrowLeft: -1, ArrowRight: 1 }[event.key], { ArrowUp: -1, ArrowDown: 1 }[event.key]];
      const place = this.queries.findIndex(({ group }) => group === event.target);
      if (event.target === this.select || !(step || (move && place >= 0))) return;
      event.preventDefault();
      if (step) this.choose((this.chosen.layer + step + this.weights.layers) % this.weights.layers, null);
      else this.focusToken((place + move + this.queries.length) % this.queries.length);
    });
    this.layOut();
    this.choose(0, null);
    return card;
  }

  // Tokens at both sides, and room for lines between them.
  layOut() {
    const widest = Math.min(24, Math.max(...this.tokens.map((token) => [...token].length)));
    this.left = 8 * widest + 24;
    this.right = this.left + (innerWidth < 640 ? 110 : 260);
    const [width, height] = [this.right + 8 * widest + 80, CELL * this.tokens.length + 8];
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) this.picture.setAttribute(name, value);
    this.lines = drawing("g");
    this.picture.append(this.lines);
    this.queries = this.tokens.map((token, place) => this.drawToken(token, place, this.left - 8, "end", true));
    this.keys = this.tokens.map((token, place) => this.drawToken(token, place, this.right + 8, "start", false));
  }

  drawToken(token, place, x, anchor, isQuery) {
    const group = drawing("g", { class: "place" });
    const name = [...token].length > 24 ? [...token].slice(0, 23).join("") + "…" : token;
    const label = drawing("text", { x, y: CELL * place + 19, "text-anchor": anchor }, name);
    group.append(drawing("rect", { x: isQuery ? 0 : x - 4, y: CELL * place + 4, width: this.left - 4, height: CELL - 1, rx: 4 }), label);
    if (isQuery) {
      group.setAttribute("tabindex", place ? "-1" : "0");
      group.setAttribute("aria-label", `attention of ${token}`);
      for (const name of ["pointerenter", "focus"]) group.addEventListener(name, () => this.drawLines(place));
      for (const name of ["pointerleave", "blur"]) group.addEventListener(name, () => this.drawLines(null));
    }
    this.picture.append(group);
    return { group, label, name };
  }

  // One token is a tab stop, arrows move to the others: long rows would take hundreds of tabs.
  focusToken(place) {
    this.queries.forEach(({ group }, other) => group.setAttribute("tabindex", other === place ? "0" : "-1"));
    this.queries[place].group.focus();
  }

  async choose(layer, heads) {
    this.chosen = { layer, heads: heads ?? this.chosen.heads };
    this.select.value = String(layer);
    this.squares.forEach((square, head) => square.setAttribute("aria-pressed", String(this.chosen.heads.has(head))));
    for (const [key, button] of this.thumbnails) {
      const [thumbLayer, head] = key.split("/").map(Number);
      button.setAttribute("aria-pressed", String(thumbLayer === layer && this.chosen.heads.size === 1 && this.chosen.heads.has(head)));
    }
    await this.drawLines(null);
  }

  async drawLines(query) {
    const { layer, heads } = this.chosen;
    const weight = await this.weights.layer(layer);
    if (layer !== this.chosen.layer) return; // another one was chosen while this one was inflated
    this.query = query;
    const [lines, size] = [[], this.tokens.length];
    for (const head of heads) {
      for (let from = query ?? 0; from < (query === null ? size : query + 1); from++) {
        for (let to = 0; to < size; to++) {
          const share = weight(head, from, to);
          if (share > 0.01) lines.push([share, head, from, to]);
        }
      }
    }
    lines.sort((one, other) => other[0] - one[0]);
    const drawn = lines.slice(0, MOST_LINES);
    // Lines of many heads lie over one another.
    const fade = query === null ? Math.sqrt(heads.size) : 1;
    this.lines.replaceChildren(...drawn.map(([share, head, from, to]) => drawing("line", {
      x1: this.left, y1: CELL * from + 14, x2: this.right, y2: CELL * to + 14,
      stroke: headColor(head, this.weights.heads), "stroke-width": 1.5, "stroke-opacity": Math.min(1, share / fade).toFixed(3),
    })));
    this.note.textContent = lines.length > drawn.length ? `The strongest ${MOST_LINES} of ${lines.length} lines; hover a token for all of its own.` : "";
    this.keys.forEach(({ label, name }, to) => {
      const shares = query === null ? [] : [...heads].map((head) => weight(head, query, to));
      const mean = shares.length ? shares.reduce((sum, share) => sum + share, 0) / shares.length : 0;
      label.textContent = query === null || mean < 0.005 ? name : `${name} ${mean.toFixed(2)}`;
      label.classList.toggle("dim", query !== null && mean < 0.005);
    });
    this.queries.forEach(({ group }, from) => group.classList.toggle("on", from === query));
  }

  pictureForFile() {
    const copy = this.picture.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("font-family", "monospace");
    copy.setAttribute("font-size", "13");
    for (const box of copy.querySelectorAll("rect")) box.remove();
    return copy;
  }

  drawModel() {
    const card = element("div", { class: "card model-view" });
    card.append(titleBar(`${this.prefix}All layers and heads`, () => this.modelForFile()),
      element("p", { class: "note" }, "Queries from top to bottom, keys from left to right; a click opens a head above."));
    const { heads, layers } = this.weights;
    const grid = element("div", { class: "model" });
    grid.style.gridTemplateColumns = `2.5rem repeat(${heads}, max-content)`;
    grid.append(element("span"), ...Array.from({ length: heads }, (_, head) => element("span", {}, `head ${head}`)));
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        this.drawThumbnail(target, Number(target.dataset.layer), Number(target.dataset.head));
      }
    }, { rootMargin: "100px" });
    for (let layer = 0; layer < layers; layer++) {
      grid.append(element("span", {}, String(layer)));
      for (let head = 0; head < heads; head++) {
        const canvas = element("canvas", { "data-layer": layer, "data-head": head });
        const button = element("button", { type: "button", "aria-pressed": "false", "aria-label": `layer ${layer}, head ${head}` }, canvas);
        button.addEventListener("click", () => this.choose(layer, new Set([head])));
        this.thumbnails.set(`${layer}/${head}`, button);
        grid.append(button);
        seen.observe(canvas);
      }
    }
    card.append(element("div", { class: "scroll" }, grid));
    return card;
  }

  // All heads, those that were never looked at included.
  async modelForFile() {
    const [{ heads, layers }, cell, edge] = [this.weights, 76, 40];
    const picture = drawing("svg", { xmlns: "http://www.w3.org/2000/svg", "font-family": "sans-serif", "font-size": 11,
      width: edge + heads * cell, height: edge + layers * cell });
    for (let head = 0; head < heads; head++) picture.append(drawing("text", { x: edge + head * cell, y: edge - 8 }, `head ${head}`));
    for (let layer = 0; layer < layers; layer++) {
      picture.append(drawing("text", { x: 4, y: edge + (layer + 0.5) * cell }, String(layer)));
      for (let head = 0; head < heads; head++) {
        const canvas = this.thumbnails.get(`${layer}/${head}`).firstChild;
        await this.drawThumbnail(canvas, layer, head);
        picture.append(drawing("image", { x: edge + head * cell, y: edge + layer * cell, width: cell - 4, height: cell - 4,
          href: canvas.toDataURL() }));
      }
    }
    return picture;
  }

  async drawThumbnail(canvas, layer, head) {
    const weight = await this.weights.layer(layer);
    const [size, most] = [this.tokens.length, Math.min(this.tokens.length, 72)];
    canvas.width = canvas.height = most;
    const pen = canvas.getContext("2d");
    const pixels = pen.createImageData(most, most);
    const [red, green, blue] = headColorAsNumbers(head, this.weights.heads);
    // Where a pixel holds several weights, the largest shows: means of long rows would be white.
    for (let y = 0; y < most; y++) {
      for (let x = 0; x < most; x++) {
        let share = 0;
        for (let query = Math.floor((y * size) / most); query < Math.ceil(((y + 1) * size) / most); query++) {
          for (let key = Math.floor((x * size) / most); key < Math.ceil(((x + 1) * size) / most); key++) share = Math.max(share, weight(head, query, key));
        }
        pixels.data.set([red, green, blue, Math.round(255 * Math.min(1, Math.sqrt(share)))], 4 * (y * most + x));
      }
    }
    pen.putImageData(pixels, 0, 0);
  }

  drawRollout() {
    const { words, shares } = this.attention.rollout;
    if (!words.length) return [];
    const card = element("div", { class: "card rollout" });
    const most = Math.max(...shares);
    card.append(titleBar(`${this.prefix}Rollout`, () => wordsAsSvg(words, shares, most)), element("p", { class: "note" },
      "Attention and residuals multiplied through all layers (Abnar and Zuidema 2020): the share of each word in the first token's last state."),
      drawWords(words, shares, most), element("span", { class: "legend" }, "0", element("i", { class: "one" }), short(most)));
    return [card];
  }
}

function headColorAsNumbers(head, heads) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = headColor(head, heads);
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}

// --- heads in the plane

const MARKS = ["●", "■", "◆", "▼", "▲", "✚", "○", "□"]; // a mark and a colour for each kind

function drawHeadMap({ label, kinds, positions }) {
  const card = element("div", { class: "card head-map" });
  const names = [...new Set(kinds.flat())].sort();
  const [width, height, edge] = [640, 480, 32];
  const picture = drawing("svg", { role: "img", "aria-label": "attention heads; close heads look at the same tokens",
    viewBox: `0 0 ${width} ${height}`, style: "max-width: 40rem; width: 100%" });
  const [xs, ys] = [0, 1].map((axis) => positions.map((position) => position[axis]));
  const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1;
  const scale = (Math.min(width, height) - 2 * edge) / span;
  const place = (values, value, size) => size / 2 + scale * (value - (Math.min(...values) + Math.max(...values)) / 2);
  kinds.flat().forEach((kind, number) => {
    const [layer, head] = [Math.floor(number / kinds[0].length), number % kinds[0].length];
    const point = drawing("g", { class: "place", tabindex: "0", role: "button" });
    const [x, y] = [place(xs, xs[number], width), place(ys, ys[number], height)];
    const mark = drawing("text", { x, y: y + 5, "text-anchor": "middle" }, MARKS[names.indexOf(kind) % MARKS.length]);
    mark.style.fill = headColor(names.indexOf(kind), names.length);
    point.append(mark, drawing("text", { x: x + 8, y: y - 3, style: "font-size: 9px" }, String(layer)));
    explainOn(point, () => `layer ${layer}, head ${head}: ${kind}`);
    picture.append(point);
  });
  const file = () => {
    const copy = picture.cloneNode(true);
    for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, "font-size": 13 })) copy.setAttribute(name, value);
    return copy;
  };
  const legend = element("p", { class: "note" });
  names.forEach((name, number) => {
    const mark = element("b", {}, MARKS[number % MARKS.length]);
    mark.style.color = headColor(number, names.length);
    legend.append(mark, ` ${name}  `);
  });
  card.append(titleBar(`${label ? `${label}: ` : ""}Heads in the plane`, file), element("p", { class: "note" },
    "Heads that are close look at the same tokens: Jensen-Shannon distances (Clark et al. 2019, section 6). The number is the layer."),
    picture, legend);
  return card;
}

// --- the page

for (const section of JSON.parse(document.getElementById("data").textContent)) {
  const box = element("section", {}, element("h2", { dir: "auto" }, visible(section.text)));
  const most = Math.max(0, ...section.attributions.flatMap(({ shares }) => shares.map(Math.abs)));
  for (const attribution of section.attributions) box.append(drawAttribution(attribution, most));
  for (const heads of section.heads) box.append(drawHeadMap(heads));
  for (const attention of section.attentions) box.append(...new AttentionViews(attention).draw());
  document.getElementById("sections").append(box);
}

document.getElementById("light").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.light && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.light = dark ? "light" : "dark";
});

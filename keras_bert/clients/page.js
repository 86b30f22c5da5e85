/** What the page does: asks the model about what is typed, and shows the answer. */

import { areEntityTags, classify, classifyEach, cosine, embed, findAnswer, findEntities, measure, tagWords } from "./answers.js";
import { SearchCorpus } from "./search.js";
import { findFault } from "./self_test.js";
import { TFLiteModel } from "./tflite.js";
import { WordPiece as Tokenizer } from "./wordpiece.js";

const PAUSE = 150; // milliseconds without a key before the model is asked
const SHOWN = 8; // labels
const RESULTS = 10; // of a search
const LENIENCY = 4; // times the tolerance of the self-test: this page rounds otherwise than LiteRT

const $ = (id) => document.getElementById(id);
const about = JSON.parse($("about").textContent);
let student, corpus;

/** What an embedding shows: the vector of a text, or the cosine of two. */
const vectors = (text, second) => (second === undefined
  ? [make("pre", {}, `[${Array.from(embed(student, text, "query"), (value) => value.toFixed(4)).join(", ")}]`)]
  : [bar("cosine", cosine(embed(student, text, "query"), embed(student, second, "passage")))]);

const number = (value) => [make("div", { className: "number" }, value.toFixed(4))];

/** The second field of tasks of texts or pairs: that of pairs, none for single texts, and a choice where nothing is known. */
const SECOND = { true: "Second text", false: "" }[about.task.pairs] ?? "Second text, if there is one";

/** Task -> what its fields are called, and what shows its answer. */
const TASKS = {
  classification: ["Text", SECOND, (text, second) => labels(classify(student, text, second))],
  multi_label: ["Text", SECOND, (text, second) => sets(classifyEach(student, text, second))],
  regression: ["Text", SECOND, (text, second) => number(measure(student, text, second))],
  token_classification: ["Text", "", (text) => [areEntityTags(about.task.labels) ? entities(text) : tags(text)]],
  question_answering: ["Question", "Context", (text, second) => answer(text, second ?? "")],
  embedding: ["Text", "Text that is compared with it", vectors],
  retrieval: ["Query", "Passage that may answer it", vectors],
  reranking: ["Query", "Passage that may answer it", (text, second) => number(measure(student, text, second ?? ""))],
};

/** Of a page with texts to search: what its field is called, and what shows the texts nearest to a query. */
const SEARCH = ["Search", "", (text) => corpus.search(embed(student, text, "query"), RESULTS, about.task.space).map(result)];

function make(kind, fields, ...children) {
  const element = Object.assign(document.createElement(kind), fields);
  element.append(...children);
  return element;
}

function bar(label, share) {
  const filled = make("i", {});
  filled.style.width = `${100 * Math.max(share, 0)}%`;
  return make("div", { className: "bar" }, make("b", { title: label }, label), filled, make("span", {}, share.toFixed(3)));
}

/** A text that was found; a long one is shown whole once it is clicked, or by Enter. */
function result({ text, similarity }) {
  const button = make("button", { type: "button", className: "result", ariaExpanded: "false" },
    make("span", {}, similarity.toFixed(3)), make("span", { className: "text" }, text));
  button.addEventListener("click", () => { button.ariaExpanded = String(button.ariaExpanded !== "true"); });
  return button;
}

/** Arrows go from the field through the results and back, Enter in the field searches at once, Escape selects the query. */
function steer(event) {
  const stops = [$("text"), ...document.querySelectorAll(".result")];
  const place = stops.indexOf(document.activeElement);
  const next = { ArrowDown: stops[place + 1], ArrowUp: stops[place - 1], Escape: stops[0] }[event.key];
  const asks = event.key === "Enter" && place === 0;
  if (event.isComposing || place < 0 || !(next || asks)) return;
  event.preventDefault();
  if (asks) ask();
  next?.focus();
  if (event.key === "Escape") next.select();
}

/** A text in which places are marked. */
function marked(text, places) {
  const parts = [];
  let done = 0;
  for (const { start, end, note } of places) {
    parts.push(text.slice(done, start), make("mark", {}, text.slice(start, end), ...(note ? [make("small", {}, note)] : [])));
    done = end;
  }
  return make("pre", {}, ...parts, text.slice(done));
}

/** Labels with their probabilities, and whether the first is one to rely on. */
function labels(ranking) {
  const bars = ranking.slice(0, SHOWN).map(({ label, probability }) => bar(label, probability));
  return [...bars, ...(ranking[0].probability < about.threshold ? [make("div", { className: "hint" }, "not sure")] : [])];
}

/** The labels that a text gets, above the probabilities of the most probable ones. */
function sets(ranking) {
  const chosen = ranking.filter((entry) => entry.given).map(({ label }) => label);
  return [make("div", { className: "hint" }, chosen.join(", ") || "no label"),
    ...ranking.slice(0, SHOWN).map(({ label, probability }) => bar(label, probability))];
}

const entities = (text) => marked(text, findEntities(student, text)
  .map(({ start, end, label, probability }) => ({ start, end, note: `${label} ${probability.toFixed(2)}` })));

const tags = (text) => marked(text, tagWords(student, text).map(({ start, end, tag }) => ({ start, end, note: tag })));

function answer(question, context) {
  const { text, start, end, probability } = findAnswer(student, question, context);
  if (!text) return [bar("no answer", probability)];
  return [bar(text, probability), make("hr", {}), marked(context, [{ start, end, note: "" }])];
}

const shown = () => (corpus ? SEARCH : TASKS[about.task.task]);

/** The bytes that a script of the page holds in base64. */
function bytesOf(id) {
  const text = atob($(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  return bytes;
}

function ask() {
  const [text, second] = [$("text").value, $("second").value];
  if (!text && !second) {
    $("answer").replaceChildren(make("span", { className: "hint" }, "Type something."));
    return;
  }
  const started = performance.now();
  try {
    $("answer").replaceChildren(...shown()[2](text, second || undefined));
    $("status").textContent = `${(performance.now() - started).toFixed(0)} ms in JavaScript; LiteRT is many times as fast.`;
  } catch (error) {
    $("answer").replaceChildren(make("span", { className: "failed" }, error.message));
  }
}

/** A text of those that the model was checked with, or a pair; a click asks the model about it. */
function example([text, second = ""]) {
  const button = make("button", { type: "button", title: [text, second].filter(Boolean).join("\n") }, text);
  button.addEventListener("click", () => {
    [$("text").value, $("second").value] = [text, second];
    ask();
  });
  return button;
}

/** Says which part of the page is wrong, if one is. */
async function check(bytes) {
  const { model, tokenizer, settings } = student;
  const parts = { bytes, labels: settings.labels, tokenizer, maxLength: settings.max_length, leniency: LENIENCY };
  $("fault").textContent = await findFault(about.test, about.file, { ...parts, run: (row) => model.run(row).values });
}

function open() {
  if ($("texts")) {
    corpus = new SearchCorpus(JSON.parse($("texts").textContent), new Int8Array(bytesOf("codes").buffer), $("codes").dataset.space);
    $("text").rows = 1;
    document.addEventListener("keydown", steer);
  }
  const [first, second] = shown();
  $("first").firstChild.textContent = first;
  $("other").firstChild.textContent = second;
  $("other").hidden = !second;
  $("examples").append(...about.examples.map(example));
  const bytes = bytesOf("model");
  const model = new TFLiteModel(bytes);
  student = { model, tokenizer: new Tokenizer(about.pieces, about.rules), settings: about.task, temperature: about.temperature };
  $("status").textContent = `${(bytes.length / 1e6).toFixed(1)} MB, up to ${about.task.max_length} tokens.`;
  let pause;
  for (const id of ["text", "second"]) {
    $(id).addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(ask, PAUSE);
    });
  }
  ask();
  if (about.test) check(bytes);
}

// The page is drawn before the model is opened.
requestAnimationFrame(() => setTimeout(open));

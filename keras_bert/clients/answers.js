/** From a text to what a task answers, as the library decodes it: one function a task. */

/**
 * What answers instead of a person who asks.
 * @typedef {{tokenizer: WordPiece|Subwords, model: TFLiteModel, settings: object, temperature: number}} Student `settings` is what
 * `task.json` holds; `temperature` is that of `metrics.json`, where there is one, and 1 where labels have none.
 */

/** Probabilities of the labels of a text, or of a pair; the most probable first. */
export function classify({ tokenizer, model, settings, temperature }, text, other) {
  const logits = model.run(rowOf(tokenizer, settings, text, other)).values;
  return shares(logits, temperature).map((probability, place) => ({ label: settings.labels[place], probability }))
    .sort((one, next) => next.probability - one.probability);
}

/**
 * All labels of a text, or of a pair, that do not exclude one another; the most probable first. `given` says whether the text
 * gets the label: its probability, before it is calibrated, reaches the threshold of the label.
 */
export function classifyEach({ tokenizer, model, settings, temperature }, text, other) {
  const logits = Array.from(model.run(rowOf(tokenizer, settings, text, other)).values);
  return logits.map((logit, place) => {
    const threshold = settings.thresholds[place];
    const given = threshold !== null && sigmoid(logit) >= threshold;
    return { label: settings.labels[place], probability: sigmoid(logit / temperature), given };
  }).sort((one, next) => next.probability - one.probability);
}

/** The number of a text, or of a pair; a re-ranker's settings may name an activation. */
export function measure({ tokenizer, model, settings }, text, other) {
  const [number] = model.run(rowOf(tokenizer, settings, text, other)).values;
  return settings.activation === "sigmoid" ? sigmoid(number) : number;
}

/** The vector of a text; `prompt` names the one of the settings' prompts that stands in front of it. */
export function embed({ tokenizer, model, settings }, text, prompt = "") {
  return model.run(rowOf(tokenizer, settings, (settings.prompts?.[prompt] ?? "") + text)).values;
}

/** The cosine of two vectors, -1 to 1. */
export function cosine(one, other) {
  const dot = (left, right) => left.reduce((sum, value, place) => sum + value * right[place], 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

/**
 * The tag of each word of a text, with its place. A long text is read in rows that overlap by a quarter, each word tagged
 * where it sees most on both sides.
 */
export function tagWords({ tokenizer, model, settings, temperature }, text) {
  const room = settings.max_length - 2;
  const words = groupWords(tokenizer.tokenize(text));
  const best = new Map();
  for (const [first, last] of splitWords(words.map((word) => Math.min(word.length, room)), room, Math.floor(room / 4))) {
    const pieces = words.slice(first, last).flatMap((word) => word.slice(0, room));
    const { values, shape } = model.run(tokenizer.encode([pieces], settings.max_length));
    let column = 0;
    for (let word = first; word < last; word += 1) {
      const context = Math.min(column, pieces.length - column - 1);
      if (!best.has(word) || context > best.get(word).context) {
        const labels = shape[2];
        best.set(word, { context, chances: shares(values.slice((column + 1) * labels, (column + 2) * labels), temperature) });
      }
      column += Math.min(words[word].length, room);
    }
  }
  return words.map((word, place) => {
    const { chances } = best.get(place);
    const probability = Math.max(...chances);
    return { tag: settings.labels[chances.indexOf(probability)], probability, start: word[0].start, end: word.at(-1).end };
  });
}

/** The entities of a text, first to last. */
export function findEntities(student, text) {
  const words = tagWords(student, text);
  return readTags(words.map(({ tag }) => tag)).map(({ label, first, last }) => {
    const [start, end] = [words[first].start, endWithMarks(text, words[last - 1].end)];
    const probability = words.slice(first, last).reduce((sum, word) => sum + word.probability, 0) / (last - first);
    return { label, text: text.slice(start, end), start, end, probability };
  });
}

/** Whether tags mark entities, and not, say, parts of speech. */
export const areEntityTags = (labels) => labels.some((label) => /^[BIES]-/.test(label))
  || (labels.includes("O") && labels.every((label) => /^[OBIES]$/.test(label)));

/** The answer to a question from a context, which is read in windows; `text` is empty for no answer. */
export function findAnswer({ tokenizer, model, settings }, question, context) {
  const query = tokenizer.tokenize(question).slice(0, settings.max_query_length);
  const pieces = tokenizer.tokenize(context);
  const windows = cutWindows(pieces.length, settings.max_length - query.length - 2 - tokenizer.between, settings.stride);
  const widest = pieces.map((_, piece) => widestWindow(windows, piece));
  let [best, total, none] = [{ score: -Infinity }, 0, Infinity];
  windows.forEach(([first, last], number) => {
    const row = tokenizer.encode([query, pieces.slice(first, last)], settings.max_length);
    const { values } = model.run(row);
    none = Math.min(none, values[0] + values[1]);
    const logit = (piece, side) => values[2 * (query.length + 1 + tokenizer.between + piece - first) + side];
    for (let start = first; start < last; start += 1) {
      if (widest[start] !== number) continue;
      for (let end = start; end < Math.min(last, start + settings.max_answer_length); end += 1) {
        const score = logit(start, 0) + logit(end, 1);
        total += Math.exp(score);
        if (score > best.score) best = { score, start, end };
      }
    }
  });
  const [mayBeNone, hasSpan] = [settings.null_threshold !== null, Number.isFinite(best.score)];
  const silent = mayBeNone ? none - best.score > settings.null_threshold : !hasSpan;
  const probability = Math.exp(silent ? none : best.score) / (total + (mayBeNone || !hasSpan ? Math.exp(none) : 0));
  const [start, end] = silent ? [0, 0] : [pieces[best.start].start, endWithMarks(context, pieces[best.end].end)];
  return { text: context.slice(start, end), start, end, probability };
}

/** The end of a part of a text, behind the marks of its last character, which no token covers: accents, vowel signs. */
function endWithMarks(text, end) {
  return end + text.slice(end).match(/^\p{M}*/u)[0].length;
}

function rowOf(tokenizer, settings, ...texts) {
  const parts = texts.filter((text) => text !== undefined).map((text) => tokenizer.tokenize(text));
  return tokenizer.encode(parts, settings.max_length);
}

/** Logits as probabilities, calibrated by a temperature (Guo et al. 2017, section 4.2). */
function shares(logits, temperature) {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

const sigmoid = (logit) => 1 / (1 + Math.exp(-logit));

function groupWords(pieces) {
  const words = [];
  for (const piece of pieces) {
    if (piece.begins) words.push([]);
    words.at(-1).push(piece);
  }
  return words;
}

/** Runs of words of at most `room` pieces, [first, behind the last]; each repeats at most `overlap` pieces. */
function splitWords(sizes, room, overlap) {
  const before = [0];
  sizes.forEach((size) => before.push(before.at(-1) + size));
  const runs = [];
  for (let first = 0; sizes.length; ) {
    let last = sizes.length;
    while (before[last] > before[first] + room) last -= 1;
    runs.push([first, last]);
    if (last === sizes.length) break;
    // A run that went further back would have no room for the next word, and never come to an end.
    const least = Math.max(before[last] - overlap, before[last + 1] - room);
    first = before.findIndex((pieces) => pieces >= least);
  }
  return runs;
}

/**
 * The entities that tags mark, as conlleval reads BIO, IOB1 and IOBES (Tjong Kim Sang and De Meulder 2003). Tags of no scheme,
 * such as `0` or `[SEP]`, mark none.
 */
function readTags(tags) {
  const spans = [];
  let open = null;
  const close = (last) => { spans.push({ ...open, last }); open = null; };
  tags.forEach((tag, place) => {
    const [, prefix, label = "_"] = tag.match(/^([BIES])(?:-(.+))?$/s) ?? [tag, "O"];
    if (open && ("OBS".includes(prefix) || label !== open.label)) close(place);
    if (!open && prefix !== "O") open = { label, first: place };
    if (open && "ES".includes(prefix)) close(place + 1);
  });
  if (open) close(tags.length);
  return spans;
}

/** The windows of a context, [first piece, behind the last]; the last one ends where the context does. */
function cutWindows(pieces, room, stride) {
  const count = 1 + Math.max(Math.ceil((pieces - room) / stride), 0);
  return Array.from({ length: count }, (_, place) => [place * stride, Math.min(place * stride + room, pieces)]);
}

/** The window that shows most around a piece (`_check_is_max_context` of google-research/bert). */
function widestWindow(windows, piece) {
  let [best, most] = [-1, -Infinity];
  windows.forEach(([first, last], number) => {
    if (piece < first || piece >= last) return;
    const score = 100 * Math.min(piece - first, last - 1 - piece) + (last - first);
    if (score > most) [best, most] = [number, score];
  });
  return best;
}

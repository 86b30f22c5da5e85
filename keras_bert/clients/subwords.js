/**
 * BPE of bytes or characters (Radford et al. 2019), unigram (Kudo 2018), and WordPiece with added tokens, by rules alone:
 * it splits text as the model's training did, whatever Unicode the browser knows. It needs `vocab.txt` and `subwords.txt`
 * of a pushed folder.
 *
 * A character is {code, start, end}: a code point, and the part of the text that it comes from. A change is a pair of a
 * code point and how it came about: 1 for an inserted one, 0 for one that replaces another, -N for one before N that go.
 */

const UNKNOWN_PENALTY = 10; // below the lowest score (`kUnkPenalty` of google/sentencepiece)
const LONGEST_GRAPHEME = 5; // bytes; longer ones are replaced character by character
const SPACE = 0x20;
const ZWJ = 0x200d;
const LINE_ENDS = [0xa, 0xd];
const CONTINUATION = "##"; // of a word, in WordPiece
const NAMES = ["s", "t", "re", "ve", "m", "ll", "d"];
const CONTRACTIONS = NAMES.map((text) => [...text].map((letter) => letter.codePointAt(0)));
// How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
const HANGUL = { first: 0xac00, lead: 0x1100, vowel: 0x1161, tail: 0x11a7, leads: 19, vowels: 21, tails: 28, count: 11172 };

export class Subwords {
  /**
   * @param {string[]} pieces of the vocabulary, by id.
   * @param {string} rules the content of `subwords.txt`.
   */
  constructor(pieces, rules) {
    this.pieces = pieces;
    this.classes = {};
    this.trims = [];
    this.added = { raw: [], normalized: [] };
    this.steps = [];
    this.splits = [];
    this.merges = new Map();
    this.letters = new Map();
    this.words = new Map();
    this.scores = [];
    for (const line of rules.trim().split("\n")) this.read(...line.split(" "));
    if (this.kind === "unigram") this.index();
  }

  /** A line of the rules. */
  read(name, ...words) {
    const step = this.steps.at(-1);
    const codes = (from) => words.slice(from).map(hexadecimal);
    const numbers = words.map(Number);
    const pair = (first, second) => first * this.pieces.length + second;
    switch (name) {
      case "kind": this.kind = words[0]; break;
      case "row": [this.cls, this.sep, this.unknown, this.between, this.second] = numbers; break;
      case "mark": this.mark = String.fromCodePoint(hexadecimal(words[0])); break;
      case "special": this.special = new Set(numbers); break;
      case "trim": this.trims.push(words[0] === "1"); break;
      case "added": {
        const [single, left, right] = [...words[3]].map((flag) => flag === "1");
        this.added[words[0]].push({ special: words[1] === "1", id: numbers[2], single, left, right, codes: codes(4) });
        break;
      }
      case "step": this.steps.push({ words, maps: new Map(), orders: new Map(), pairs: new Map() }); break;
      case "map": step.maps.set(words[0].split(".").map(hexadecimal).join(), codes(1)); break;
      case "order": step.orders.set(hexadecimal(words[0]), numbers[1]); break;
      case "pair": step.pairs.set(codes(0).slice(0, 2).join(), hexadecimal(words[2])); break;
      case "split": this.splits.push(words); break;
      case "class": (this.classes[words[0]] ??= []).push(...codes(1)); break;
      case "words":
        this.words = new Map(this.pieces.slice(0, numbers[0]).map((piece, id) => [piece, id]));
        this.longestWord = numbers[1];
        break;
      case "bytes": this.bytes = numbers; break;
      case "letter": this.letters.set(hexadecimal(words[0]), numbers[1]); break;
      case "merge": this.merges.set(pair(numbers[0], numbers[1]), { rank: this.merges.size, id: numbers[2] }); break;
      case "score": this.scores.push(numbers[0]); break;
      default: throw new Error(`subwords.txt must hold lines of rules, got ${name}`);
    }
  }

  /** The tokens that unigram looks up, how long the longest is, and the score of unknown text. */
  index() {
    this.ids = new Map(this.scores.map((_, id) => [this.pieces[id], id]));
    this.longest = this.scores.reduce((most, _, id) => Math.max(most, [...this.pieces[id]].length), 0);
    this.unknownScore = this.scores.reduce((least, score) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY;
  }

  /**
   * The tokens of a text, without special tokens.
   * @param {string} text
   * @returns {{id: number, start: number, end: number, begins: boolean}[]} each with its place, `text.slice(start, end)`,
   * and whether it begins a word.
   */
  tokenize(text) {
    const tokens = [];
    for (const part of this.separate(characters(text), "raw")) {
      for (const piece of part.id === undefined ? this.separate(this.normalize(part.characters), "normalized") : [part]) {
        if (piece.id !== undefined) tokens.push({ id: piece.id, start: piece.characters[0].start, end: piece.characters.at(-1).end });
        else for (const word of this.split(piece.characters)) tokens.push(...this.cutWord(word));
      }
    }
    return tokens.map((token, place) => this.finish(text, token, place));
  }

  /**
   * The inputs of a model.
   * @param {object[][]} parts the tokens of a text, or of each of two.
   * @param {number} length the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
   * @returns {{token_ids: number[], segment_ids: number[], padding_mask: number[], lengths: number[]}} without padding,
   * and the number of tokens of each part.
   */
  encode(parts, length) {
    const room = length - 2 - (parts.length > 1 ? this.between : 0);
    const [first, second = 0] = parts.map((part) => part.length);
    const kept = Math.min(first, Math.max(room - second, Math.floor((room + (first > second)) / 2)));
    const lengths = [kept, Math.min(second, room - kept)].slice(0, parts.length);
    const rows = { token_ids: [this.cls], segment_ids: [0] };
    parts.forEach((part, segment) => {
      const marks = Array(segment ? this.between - 1 : 0);
      rows.token_ids.push(...marks.fill(this.sep), ...part.slice(0, lengths[segment]).map((token) => token.id), this.sep);
      rows.segment_ids.push(...marks.fill(0), ...Array(lengths[segment] + 1).fill(segment * this.second));
    });
    return { ...rows, padding_mask: rows.token_ids.map(() => 1), lengths };
  }

  cutWord(word) {
    if (this.kind === "unigram") return this.search(word);
    return this.kind === "wordpiece" ? this.spell(word) : this.merge(word);
  }

  /** A token whose place has no white space in front, and none of what byte-level BPE trims. */
  finish(text, { id, start, end }, place) {
    const piece = [...this.pieces[id]];
    for (const prefix of this.trims) {
      const isBlank = (character) => character === this.mark || this.within("blank", character.codePointAt(0));
      const inner = piece.findIndex((character) => !isBlank(character));
      const leading = inner < 0 ? piece.length : inner;
      const trailing = inner < 0 ? piece.length : piece.length - 1 - piece.findLastIndex((character) => !isBlank(character));
      const kept = leading && prefix && (place === 0 || start === 0) ? 1 : 0;
      start = Math.min(move(text, start, leading - kept), end);
      end = Math.max(move(text, end, -trailing), start);
    }
    while (start < end && this.within("blank", text.charCodeAt(start))) start += 1;
    const begins = this.kind === "wordpiece" ? !this.pieces[id].startsWith(CONTINUATION) : piece[0] === this.mark;
    return { id, start, end, begins: place === 0 || begins || this.special.has(id) };
  }

  /** The parts of a text between added tokens, and these; the longest of several counts, special ones are text. */
  separate(text, place) {
    const parts = [];
    let first = 0;
    const close = (last) => { if (first < last) parts.push({ characters: text.slice(first, last) }); };
    const is = (name, index) => index >= 0 && index < text.length && this.within(name, text[index].code);
    for (let start = 0; start < text.length;) {
      let longest = null;
      for (const token of this.added[place]) {
        const matches = token.codes.every((code, index) => text[start + index]?.code === code);
        if (matches && !(longest?.codes.length >= token.codes.length)) longest = token;
      }
      const end = start + (longest ? longest.codes.length : 1);
      const fits = longest && !longest.special && !(longest.single && (is("word", start - 1) || is("word", end)));
      if (fits) {
        let [from, to] = [start, end];
        while (longest.left && from > first && is("white", from - 1)) from -= 1;
        while (longest.right && is("white", to)) to += 1;
        close(from);
        parts.push({ id: longest.id, characters: text.slice(from, to) });
        first = to;
      }
      start = end;
    }
    close(text.length);
    return parts;
  }

  normalize(text) {
    for (const step of this.steps) text = this[step.words[0]](text, step);
    return text;
  }

  /** Replaces each character by itself. */
  characters(text, { maps }) {
    return text.flatMap((character) => maps.get(String(character.code))?.map((code) => ({ ...character, code })) ?? [character]);
  }

  /** Puts spaces around each character of a class. */
  spaced(text, { words }) {
    const spread = (character) => [SPACE, character.code, SPACE].map((code) => ({ ...character, code }));
    return text.flatMap((character) => (this.within(words[1], character.code) ? spread(character) : [character]));
  }

  /** Removes white space at the ends. */
  strip(text, { words }) {
    const isText = ({ code }) => !this.within("white", code);
    const first = words[1] === "1" ? text.findIndex(isText) : 0;
    const last = words[2] === "1" ? text.findLastIndex(isText) : text.length - 1;
    return first < 0 ? [] : text.slice(first, last + 1);
  }

  /** Replaces a sequence of characters, each with the place of its last one. */
  replace(text, { words }) {
    const [key, codes] = [words[1].split(".").map(hexadecimal), words.slice(2).map(hexadecimal)];
    const replaced = [];
    for (let place = 0; place < text.length;) {
      if (key.every((code, index) => text[place + index]?.code === code)) {
        place += key.length;
        replaced.push(...codes.map((code) => ({ ...text[place - 1], code })));
      } else replaced.push(text[place++]);
    }
    return replaced;
  }

  /** Replaces runs of two and more characters of a class, and characters of another that stand alone. */
  collapse(text, { words }) {
    const [, run, alone, ...replacement] = words;
    const within = (place) => place >= 0 && place < text.length && this.within(run, text[place].code);
    return text.flatMap((character, place) => {
      const isNext = within(place + 1);
      const isRun = within(place) && (isNext || within(place - 1));
      if (!isRun && !this.within(alone, character.code)) return [character];
      return isRun && isNext ? [] : replacement.map((code) => ({ ...character, code: hexadecimal(code) }));
    });
  }

  decomposed(text, step) {
    return change(text, decompose(text, step));
  }

  composed(text, step) {
    return change(text, compose(decompose(text, step), step));
  }

  /** SentencePiece's replacements, as `tokenizers` makes them: of graphemes, or of their characters. */
  graphemes(text, { maps }) {
    const changes = [];
    let modified = false;
    const put = (count, codes) => {
      modified = true;
      codes.forEach((code, place) => changes.push([code, place < count ? 0 : 1]));
      if (codes.length < count && changes.length) changes.at(-1)[1] -= count - codes.length;
    };
    for (const [first, last] of this.groups(text)) {
      const codes = text.slice(first, last).map(({ code }) => code);
      const bytes = codes.reduce((sum, code) => sum + width(code), 0);
      const whole = bytes > LONGEST_GRAPHEME ? [] : codes.map((_, place) => maps.get(codes.slice(0, place + 1).join()));
      const replacement = whole.find(Boolean);
      if (replacement) put(codes.length, replacement);
      else {
        for (const code of codes) {
          const mapped = maps.get(String(code));
          if (mapped) put(1, mapped);
          else changes.push([code, 0]);
        }
      }
    }
    return modified ? change(text, changes) : text;
  }

  /** Graphemes, [first, behind the last] (Unicode Standard Annex 29, of which flags are longer than what is replaced). */
  groups(text) {
    const groups = [];
    let before = { is: () => false };
    let [picture, conjunct] = ["", ""];
    text.forEach(({ code }, place) => {
      const is = (name) => this.within(name, code);
      const joins = before.code !== undefined && this.joins(before, { code, is }, picture, conjunct);
      if (joins) groups.at(-1)[1] = place + 1;
      else groups.push([place, place + 1]);
      if (is("picture")) picture = "open";
      else if (picture === "open" && code === ZWJ) picture = "joined";
      else if (picture !== "open" || !is("extend")) picture = "";
      if (is("consonant")) conjunct = "open";
      else if (conjunct && is("linker")) conjunct = "linked";
      else if (!is("between")) conjunct = "";
      before = { code, is };
    });
    return groups;
  }

  joins(before, after, picture, conjunct) {
    if (before.is("control") || after.is("control")) return false;
    if (after.is("extend") || after.is("spacing") || before.is("prepend")) return true;
    if (picture === "joined" && after.is("picture")) return true;
    if (conjunct === "linked" && after.is("consonant")) return true;
    const syllable = ({ code }) => code >= HANGUL.first && code < HANGUL.first + HANGUL.count;
    const open = (one) => syllable(one) && (one.code - HANGUL.first) % HANGUL.tails === 0;
    if (before.is("lead")) return after.is("lead") || after.is("vowel") || syllable(after);
    if (before.is("vowel") || open(before)) return after.is("vowel") || after.is("tail");
    return (before.is("tail") || syllable(before)) && after.is("tail");
  }

  /** The words of a text, which are split further into tokens. */
  split(text) {
    let words = [text];
    for (const [kind, ...options] of this.splits) words = words.flatMap((word) => this[`${kind}Words`](word, ...options));
    return words;
  }

  whiteWords(text) {
    return cut(text, (code) => this.within("white", code), "dropped");
  }

  /** Punctuation apart from the rest. */
  marksWords(text) {
    return cut(text, (code) => this.within("punctuation", code), "alone");
  }

  /** Words with a mark in front of each (SentencePiece). */
  wordsWords(text, mark, scheme, splits) {
    const code = hexadecimal(mark);
    let word = text.map((character) => (character.code === SPACE ? { ...character, code } : character));
    const prefixed = scheme === "always" || (scheme === "first" && word[0]?.start === 0);
    if (prefixed && word.length && word[0].code !== code) word = [{ ...word[0], code }, ...word];
    return splits === "1" ? cut(word, (other) => other === code, "first") : [word];
  }

  /** The words of GPT-2's expression: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
  bytesWords(text, prefix) {
    const word = prefix === "1" && text.length && text[0].code !== SPACE ? [{ ...text[0], code: SPACE }, ...text] : text;
    return this.cutAt(word, wordEnd);
  }

  /** The words of Llama 3's expression, see `LLAMA_WORDS` of the library. */
  runsWords(text) {
    return this.cutAt(text, (word, kinds, first) => this.runEnd(word, kinds, first));
  }

  cutAt(text, findEnd) {
    const kinds = text.map(({ code }) => ["letter", "number", "space"].find((name) => this.within(name, code)) ?? "other");
    const words = [];
    for (let first = 0; first < text.length;) {
      const last = findEnd(text, kinds, first);
      words.push(text.slice(first, last));
      first = last;
    }
    return words;
  }

  runEnd(text, kinds, first) {
    const isLineEnd = (place) => LINE_ENDS.includes(text[place]?.code);
    const behind = (start, kind) => {
      let end = start;
      while (kinds[end] === kind) end += 1;
      return end;
    };
    const isLetter = (letter, place) => text[place] && this.within(letter, text[place].code);
    const rest = text[first].code === 0x27 && NAMES.find((name) => [...name].every((one, place) => isLetter(one, first + 1 + place)));
    if (rest) return first + 1 + rest.length;
    const opens = kinds[first] !== "number" && !isLineEnd(first) && kinds[first + 1] === "letter";
    if (kinds[first] === "letter" || opens) return behind(first + 1, "letter");
    if (kinds[first] === "number") return Math.min(behind(first, "number"), first + 3);
    const start = text[first].code === SPACE && kinds[first + 1] === "other" ? first + 1 : first;
    if (kinds[start] === "other") {
      let end = behind(start, "other");
      while (isLineEnd(end)) end += 1;
      return end;
    }
    const end = behind(first, "space");
    for (let place = end; place > first; place -= 1) if (isLineEnd(place - 1)) return place;
    // The last space of several belongs to the next word.
    return end < text.length && end - first > 1 ? end - 1 : end;
  }

  /** WordPiece: the longest token that a word, or the rest of it, begins with; one unknown token where there is none. */
  spell(word) {
    const letters = word.map(({ code }) => String.fromCodePoint(code));
    const unknown = [{ id: this.unknown, start: word[0].start, end: word.at(-1).end }];
    const tokens = [];
    for (let first = 0; first < word.length;) {
      let [last, id] = [word.length, undefined];
      const prefix = first ? CONTINUATION : "";
      while (last > first && (id = this.words.get(prefix + letters.slice(first, last).join(""))) === undefined) last -= 1;
      if (id === undefined || word.length > this.longestWord) return unknown;
      tokens.push({ id, start: word[first].start, end: word[last - 1].end });
      first = last;
    }
    return tokens;
  }

  /** BPE: a word that is a token, else the pair of the lowest rank is merged first, the leftmost of several. */
  merge(word) {
    const idsOf = (code) => (this.letters.has(code) ? [this.letters.get(code)] : utf8(code).map((byte) => this.bytes[byte]));
    let tokens = word.flatMap(({ code, start, end }) => idsOf(code).map((id) => ({ id, start, end })));
    const whole = this.words.get(tokens.map(({ id }) => this.pieces[id]).join(""));
    if (whole !== undefined) return [{ id: whole, start: word[0].start, end: word.at(-1).end }];
    const find = (one, other) => (one && other ? this.merges.get(one.id * this.pieces.length + other.id) : undefined);
    for (;;) {
      let best = null;
      for (let place = 1; place < tokens.length; place += 1) {
        const pair = find(tokens[place - 1], tokens[place]);
        if (pair && !(best?.rank <= pair.rank)) best = pair;
      }
      if (!best) return tokens;
      const merged = [];
      let place = 0;
      // A merge may allow one of a lower rank beside it, which comes first then.
      for (let lower = false; place < tokens.length && !lower;) {
        if (find(tokens[place], tokens[place + 1]) === best) {
          const token = { id: best.id, start: tokens[place].start, end: tokens[place + 1].end };
          lower = [find(merged.at(-1), token), find(token, tokens[place + 2])].some((pair) => pair?.rank < best.rank);
          merged.push(token);
          place += 2;
        } else merged.push(tokens[place++]);
      }
      tokens = [...merged, ...tokens.slice(place)];
    }
  }

  /** Unigram: the tokens with the highest sum of scores (Viterbi 1967); of equal sums the first one that is found. */
  search(word) {
    const letters = word.map(({ code }) => String.fromCodePoint(code));
    const best = Array.from({ length: word.length + 1 }, () => ({ score: 0, first: -1, id: this.unknown }));
    for (let first = 0; first < word.length; first += 1) {
      const offer = (last, score, id) => {
        if (best[last].first < 0 || score + best[first].score > best[last].score) best[last] = { score: score + best[first].score, first, id };
      };
      let [piece, isKnown] = ["", false];
      for (let last = first + 1; last <= Math.min(word.length, first + this.longest); last += 1) {
        piece += letters[last - 1];
        const id = this.ids.get(piece);
        if (id === undefined) continue;
        offer(last, this.scores[id], id);
        isKnown ||= last === first + 1;
      }
      if (!isKnown) offer(first + 1, this.unknownScore, this.unknown);
    }
    const tokens = [];
    for (let last = word.length; last > 0; last = best[last].first) {
      const { first, id } = best[last];
      // Unknown characters side by side are one token.
      if (id === this.unknown && tokens[0]?.id === id) tokens[0].start = word[first].start;
      else tokens.unshift({ id, start: word[first].start, end: word[last - 1].end });
    }
    return tokens;
  }

  /** Whether a character is of a class: ranges [first, last, first, last, ...], which rise. */
  within(name, code) {
    const ranges = this.classes[name] ?? [];
    let low = 0;
    let high = ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[2 * middle + 1] < code) low = middle + 1;
      else high = middle;
    }
    return low < ranges.length / 2 && ranges[2 * low] <= code;
  }
}

function hexadecimal(word) {
  return parseInt(word, 16);
}

/** The place a number of characters further on or back; as it was where there are not as many. */
function move(text, place, count) {
  if (!count) return place;
  // A character has at most two units.
  const near = count < 0 ? text.slice(Math.max(place + 2 * count, 0), place) : text.slice(place, place + 2 * count);
  const characters = count < 0 ? [...near].slice(count) : [...near].slice(0, count);
  return characters.length < -count ? place : place + Math.sign(count) * characters.join("").length;
}

function characters(text) {
  let place = 0;
  return Array.from(text, (character) => ({ code: character.codePointAt(0), start: place, end: (place += character.length) }));
}

/** The number of bytes of a character in UTF-8. */
function width(code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

function utf8(code) {
  return [...new TextEncoder().encode(String.fromCodePoint(code))];
}

/** A changed text; an inserted character has the place of the one before (`NormalizedString` of `tokenizers`). */
function change(text, changes) {
  let place = 0;
  return changes.map(([code, kind]) => {
    const source = text[kind > 0 ? place - 1 : Math.min(place, text.length - 1)] ?? { start: 0, end: 0 };
    if (kind <= 0) place += 1 - kind;
    return { ...source, code };
  });
}

/** Decomposed characters, marks in canonical order, as changes. */
function decompose(text, { maps, orders }) {
  const changes = [];
  let marks = [];
  const close = () => {
    changes.push(...marks.sort((one, other) => orders.get(one[0]) - orders.get(other[0])));
    marks = [];
  };
  for (const { code } of text) {
    (maps.get(String(code)) ?? letters(code)).forEach((part, place) => {
      if (orders.has(part)) marks.push([part, place ? 1 : 0]);
      else {
        close();
        changes.push([part, place ? 1 : 0]);
      }
    });
  }
  close();
  return changes;
}

/** The letters of a syllable of Hangul; another character itself. */
function letters(code) {
  const syllable = code - HANGUL.first;
  if (syllable < 0 || syllable >= HANGUL.count) return [code];
  const tail = syllable % HANGUL.tails;
  const pair = [HANGUL.lead + Math.floor(syllable / (HANGUL.vowels * HANGUL.tails)),
    HANGUL.vowel + (Math.floor(syllable / HANGUL.tails) % HANGUL.vowels)];
  return tail ? [...pair, HANGUL.tail + tail] : pair;
}

/** Composes decomposed changes; a mark that is kept blocks others of its class and lower ones. */
function compose(changes, { orders, pairs }) {
  const composed = [];
  let [starter, blocked] = [-1, -1];
  for (const [code, kind] of changes) {
    const order = orders.get(code) ?? 0;
    const composite = starter < 0 || blocked >= order && blocked >= 0 ? undefined : join(composed[starter][0], code, pairs);
    if (composite !== undefined) {
      composed[starter] = [composite, composed[starter][1] + kind - 1];
      continue;
    }
    composed.push([code, kind]);
    if (!order) [starter, blocked] = [composed.length - 1, -1];
    else if (starter >= 0) blocked = order;
  }
  return composed;
}

function join(first, second, pairs) {
  const [lead, vowel, tail, syllable] = [first - HANGUL.lead, second - HANGUL.vowel, second - HANGUL.tail, first - HANGUL.first];
  if (lead >= 0 && lead < HANGUL.leads && vowel >= 0 && vowel < HANGUL.vowels) {
    return HANGUL.first + (lead * HANGUL.vowels + vowel) * HANGUL.tails;
  }
  if (syllable >= 0 && syllable < HANGUL.count && syllable % HANGUL.tails === 0 && tail > 0 && tail < HANGUL.tails) return first + tail;
  return pairs.get(`${first},${second}`);
}

/** Parts of a text; a separator is dropped, or is the first or all of its part. */
function cut(text, isSeparator, place) {
  const parts = [];
  let part = null;
  for (const character of text) {
    const separates = isSeparator(character.code);
    if (separates) part = null;
    if (separates && place === "dropped") continue;
    if (!part) parts.push((part = []));
    part.push(character);
    if (separates && place === "alone") part = null;
  }
  return parts;
}

/** The end of the word of GPT-2's expression that starts at a place. */
function wordEnd(text, kinds, first) {
  if (text[first].code === 0x27) {
    const rest = CONTRACTIONS.find((letters) => letters.every((code, place) => text[first + 1 + place]?.code === code));
    if (rest) return first + 1 + rest.length;
  }
  const behind = (start) => {
    let end = start;
    while (end < text.length && kinds[end] === kinds[start]) end += 1;
    return end;
  };
  const start = text[first].code === SPACE && first + 1 < text.length && kinds[first + 1] !== "space" ? first + 1 : first;
  const end = behind(start);
  // The last space of several belongs to the next word.
  return kinds[start] === "space" && end < text.length && end - first > 1 ? end - 1 : end;
}

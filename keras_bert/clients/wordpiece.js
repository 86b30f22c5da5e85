/**
 * BERT's WordPiece tokenizer (Devlin et al. 2019), by tables alone: it cuts text as the model's training did, whatever
 * Unicode the browser knows. It needs `vocab.txt` and `characters.txt` of a pushed folder.
 */

const LONGEST_WORD = 100; // characters; a longer word is unknown, as in google-research/bert
// How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
const HANGUL = { first: 0xac00, lead: 0x1100, vowel: 0x1161, tail: 0x11a7, vowels: 21, tails: 28 };

export class WordPiece {
  /**
   * @param {string[]} pieces of the vocabulary, by id.
   * @param {string} characters what `characters.txt` holds.
   */
  constructor(pieces, characters) {
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    this.ranges = { dropped: [], blank: [], isolated: [], syllables: [] };
    this.replaced = new Map();
    for (const line of characters.trim().split("\n")) {
      const [kind, ...words] = line.split(" ");
      const codes = words.map((word) => parseInt(word, 16));
      if (kind === "replaced") this.replaced.set(codes[0], String.fromCodePoint(...codes.slice(1)));
      else this.ranges[kind].push(...codes);
    }
    const isMPNet = this.ids.get("<s>") === 0;
    this.between = isMPNet ? 2 : 1; // end tokens between the texts of a pair
    const special = isMPNet ? ["<pad>", "[UNK]", "<s>", "</s>"] : ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
    [this.pad, this.unknown, this.cls, this.sep] = special.map((piece) => this.ids.get(piece));
  }

  /**
   * The pieces of a text, without special tokens.
   * @param {string} text
   * @returns {{id: number, start: number, end: number, begins: boolean}[]} where each stands, `text.slice(start, end)`,
   * and whether it begins a word.
   */
  tokenize(text) {
    return this.words(text).flatMap((word) => this.cut(word));
  }

  /**
   * A text as the model's training read it, its words parted by spaces. MediaPipe Tasks, which keeps accents and
   * characters without width, makes the ids of the training of it.
   * @param {string} text
   * @returns {string}
   */
  plain(text) {
    const spell = (word) => word.map(({ character }) => character).join("");
    return this.words(text).map(spell).join(" ");
  }

  /**
   * The inputs of a model.
   * @param {object[][]} parts the pieces of a text, or of each of two.
   * @param {number} length the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
   * @returns {{token_ids: number[], segment_ids: number[], padding_mask: number[], lengths: number[]}} without padding,
   * and how many pieces of each part there are.
   */
  encode(parts, length) {
    const room = length - 2 - (parts.length > 1 ? this.between : 0);
    const [first, second = 0] = parts.map((part) => part.length);
    const kept = Math.min(first, Math.max(room - second, Math.floor((room + (first > second)) / 2)));
    const lengths = [kept, Math.min(second, room - kept)].slice(0, parts.length);
    const rows = { token_ids: [this.cls], segment_ids: [0] };
    parts.forEach((part, segment) => {
      const marks = Array(segment ? this.between - 1 : 0);
      rows.token_ids.push(...marks.fill(this.sep), ...part.slice(0, lengths[segment]).map((piece) => piece.id), this.sep);
      rows.segment_ids.push(...marks.fill(0), ...Array(lengths[segment] + 1).fill(segment));
    });
    return { ...rows, padding_mask: rows.token_ids.map(() => 1), lengths };
  }

  /** The words of a text: of each its characters as they are looked up, and where each of those came from. */
  words(text) {
    const words = [];
    let word = null;
    let place = 0;
    for (const source of text) {
      const [start, end] = [place, (place += source.length)];
      for (const character of this.normalize(source)) {
        const alone = within(this.ranges.isolated, character.codePointAt(0));
        if (alone || character === " ") word = null;
        if (character === " ") continue;
        if (!word) words.push((word = []));
        word.push({ character, start, end });
        if (alone) word = null;
      }
    }
    return words;
  }

  /** What stands for a character: text of any length. */
  normalize(character) {
    const code = character.codePointAt(0);
    if (within(this.ranges.dropped, code)) return "";
    if (within(this.ranges.blank, code)) return " ";
    if (within(this.ranges.syllables, code)) {
      const syllable = code - HANGUL.first;
      const tail = syllable % HANGUL.tails;
      return String.fromCodePoint(
        HANGUL.lead + Math.floor(syllable / (HANGUL.vowels * HANGUL.tails)),
        HANGUL.vowel + (Math.floor(syllable / HANGUL.tails) % HANGUL.vowels),
        ...(tail ? [HANGUL.tail + tail] : []),
      );
    }
    return this.replaced.get(code) ?? character;
  }

  /** The pieces of a word: the longest that is known first; unknown as a whole where a rest is not known. */
  cut(word) {
    const unknown = [{ id: this.unknown, start: word[0].start, end: word.at(-1).end, begins: true }];
    if (word.length > LONGEST_WORD) return unknown;
    const pieces = [];
    for (let first = 0; first < word.length; ) {
      let last = word.length;
      let id;
      for (; last > first; last -= 1) {
        const piece = word.slice(first, last).map((letter) => letter.character).join("");
        id = this.ids.get(first ? `##${piece}` : piece);
        if (id !== undefined) break;
      }
      if (id === undefined) return unknown;
      pieces.push({ id, start: word[first].start, end: word[last - 1].end, begins: !first });
      first = last;
    }
    return pieces;
  }
}

/** Whether a number is within one of the ranges [first, last, first, last, ...], which rise. */
function within(ranges, number) {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[2 * middle + 1] < number) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length / 2 && ranges[2 * low] <= number;
}

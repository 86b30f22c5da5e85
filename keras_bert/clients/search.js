/** Search among the vectors of texts, each of which holds whole numbers from -127 to 127. */

export class SearchCorpus {
  /**
   * @param {string[]} texts
   * @param {Int8Array} codes the vectors of the texts, one after the other.
   * @param {string} space the identifier of their space, `space` of the `task.json` of the model that made them; empty if unknown.
   */
  constructor(texts, codes, space = "") {
    this.space = space;
    this.texts = texts;
    this.codes = codes;
    this.width = codes.length / texts.length;
    const vectorOf = (text) => Float64Array.from(codes.subarray(text * this.width, (text + 1) * this.width));
    this.norms = Float64Array.from(texts, (_, text) => Math.sqrt(this.dot(vectorOf(text), text)));
  }

  /**
   * The texts nearest to a vector by cosine, best first; of two that are as near the first one.
   * @param {Float32Array} vector of a query, as wide as those of the texts.
   * @param {number} count of texts, at most.
   * @param {string} space the identifier of the space of the vector, `space` of the model's `task.json`.
   * @returns {{index: number, text: string, similarity: number}[]}
   */
  search(vector, count, space = "") {
    if (space && this.space && space !== this.space) {
      throw new Error(`the texts must have vectors of the model's space, ${space}, got vectors of the space ${this.space}: `
        + "embed the texts again with this model, or train it into their space");
    }
    if (vector.length !== this.width) {
      throw new Error(`vector must be ${this.width} numbers, as the vectors of the texts, got ${vector.length}`);
    }
    const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    const nearest = [];
    const numbers = Float64Array.from(vector);
    for (let index = 0; index < this.texts.length; index += 1) {
      const similarity = Math.fround(this.dot(numbers, index) / Math.max(norm * this.norms[index], Number.MIN_VALUE));
      if (nearest.length === count && similarity <= nearest[count - 1].similarity) continue;
      let place = nearest.length;
      while (place && nearest[place - 1].similarity < similarity) place -= 1;
      nearest.splice(place, 0, { index, text: this.texts[index], similarity });
      nearest.length = Math.min(nearest.length, count);
    }
    return nearest;
  }

  /** The dot product of numbers with the vector of a text, in four sums that the processor adds to at once. */
  dot(numbers, text) {
    const { codes, width } = this;
    let one = 0, two = 0, three = 0, four = 0, place = 0, at = text * width;
    for (; place + 4 <= width; place += 4, at += 4) {
      one += numbers[place] * codes[at];
      two += numbers[place + 1] * codes[at + 1];
      three += numbers[place + 2] * codes[at + 2];
      four += numbers[place + 3] * codes[at + 3];
    }
    for (; place < width; place += 1, at += 1) one += numbers[place] * codes[at];
    return one + two + three + four;
  }
}

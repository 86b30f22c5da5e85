/** Search among the vectors of texts, each of which holds whole numbers from -127 to 127. */

export class SearchCorpus {
  /**
   * @param {string[]} texts
   * @param {Int8Array} codes the vectors of the texts, one after the other.
   */
  constructor(texts, codes) {
    this.texts = texts;
    this.codes = codes;
    this.width = codes.length / texts.length;
    this.norms = Float64Array.from(texts, (_, text) => Math.sqrt(this.dot(codes.subarray(text * this.width), text)));
  }

  /**
   * The texts nearest to a vector by cosine, best first; of two that are as near the first one.
   * @param {Float32Array} vector of a query.
   * @param {number} count of texts, at most.
   * @returns {{index: number, text: string, similarity: number}[]}
   */
  search(vector, count) {
    const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    const nearest = [];
    for (let index = 0; index < this.texts.length; index += 1) {
      const similarity = Math.fround(this.dot(vector, index) / Math.max(norm * this.norms[index], Number.MIN_VALUE));
      if (nearest.length === count && similarity <= nearest[count - 1].similarity) continue;
      let place = nearest.length;
      while (place && nearest[place - 1].similarity < similarity) place -= 1;
      nearest.splice(place, 0, { index, text: this.texts[index], similarity });
      nearest.length = Math.min(nearest.length, count);
    }
    return nearest;
  }

  /** The dot product of numbers with the vector of a text. */
  dot(numbers, text) {
    let sum = 0;
    for (let place = 0, from = text * this.width; place < this.width; place += 1) sum += numbers[place] * this.codes[from + place];
    return sum;
  }
}

/** A table of labels beside a model of vectors: labels are added, renamed and removed where the model runs. */

const SOURCES = ["rows", "examples", "name"];
/** Up to so many examples, an added label has the whole bias of the table. */
const BIAS_EXAMPLES = 8;
const WHOLE = "the bytes must be those of a whole file";
const FINITE = "vectors must be finite numbers";

/**
 * The labels of `label_table.bin`, as the library's `LabelTable` has them: scores are those of a probabilistic linear
 * discriminant analysis. Vectors are those of the model that the table belongs to. Changes throw an Error if they are wrong.
 */
export class LabelTable {
  #head; #width; #center; #variances; #nameOffset; #axes; #nameCount; #temperature; #threshold; #addedBias;
  #labels = new Map();
  #history = [];

  /** @param {Uint8Array} bytes the content of `label_table.bin`, or what `toBytes` returned. */
  constructor(bytes) {
    const reader = new Reader(bytes, "LABELSV1");
    const [width, count] = [reader.integer(), reader.integer()];
    [this.#nameCount, this.#temperature, this.#threshold, this.#addedBias] = [0, 0, 0, 0].map(() => reader.double());
    this.space = reader.text(16);
    [this.#center, this.#variances, this.#nameOffset] = [0, 0, 0].map(() => reader.floats(width));
    this.#axes = reader.halves(width * width);
    this.#width = width;
    this.#head = bytes.slice(0, reader.place);
    for (let number = 0; number < count; number += 1) {
      const name = reader.text(reader.integer());
      const [source, weight, added] = [SOURCES[reader.integer()], reader.double(), reader.integer()];
      this.#labels.set(name, this.#label(reader.floats(width), weight, source, added, reader.floats(width)));
    }
    reader.end();
  }

  /** The labels in their order. */
  get labels() { return [...this.#labels.keys()]; }

  /** All labels with their probabilities among the labels and their scores, the most probable first. */
  ranking(vector) {
    const places = this.#project(vector);
    const entries = [...this.#labels].map(([label, { terms, bias }]) => {
      let score = terms.constant;
      for (let axis = 0; axis < places.length; axis += 1) {
        score += places[axis] * (places[axis] * terms.squares[axis] + terms.products[axis]);
      }
      return { label, score, biased: score - bias };
    }).sort((one, next) => next.biased - one.biased);
    if (!entries.length) throw new Error("the table must hold at least one label");
    const powers = entries.map(({ biased }) => Math.exp((biased - entries[0].biased) / this.#temperature));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return entries.map(({ label, score }, place) => ({ label, probability: powers[place] / total, score }));
  }

  /** The label of a vector, null for none of the labels; its probability among the labels; and its score. */
  answer(vector) {
    const [best] = this.ranking(vector);
    return { ...best, label: best.score >= this.#threshold ? best.label : null };
  }

  /** Adds a label by the vectors of its examples; without any, by the vector of its name. */
  add(label, vectors, nameVector) {
    if (!label.trim()) throw new Error("a label must not be empty");
    if (this.#labels.has(label)) throw new Error(`${label} must be a new label; addExamples adds to one that exists`);
    if (!vectors.length && !nameVector) throw new Error("a label must have an example or a name");
    const none = new Float32Array(this.#width);
    let start = this.#label(none, 0, "examples", 0, none);
    if (nameVector) {
      const sums = Float32Array.from(this.#project(nameVector), (place, axis) => this.#nameCount * (place + this.#nameOffset[axis]));
      start = this.#label(sums, this.#nameCount, "name", 0, none);
    }
    this.#change([...this.#labels, [label, this.#grown(start, this.#sum(vectors), vectors.length)]]);
  }

  /** Adds the vectors of examples to a label. */
  addExamples(label, vectors) {
    if (!vectors.length) throw new Error("there must be an example");
    const grown = this.#grown(this.#known(label), this.#sum(vectors), vectors.length);
    this.#change([...this.#labels].map(([name, entry]) => [name, name === label ? grown : entry]));
  }

  /** Gives a label another name. */
  rename(label, other) {
    this.#known(label);
    if (!other.trim() || this.#labels.has(other)) throw new Error(`${other} must be a new label`);
    this.#change([...this.#labels].map(([name, entry]) => [name === label ? other : name, entry]));
  }

  /** Removes a label. */
  remove(label) {
    this.#known(label);
    this.#change([...this.#labels].filter(([name]) => name !== label));
  }

  /** Takes back the last change since the table was read. */
  undo() {
    if (!this.#history.length) throw new Error("undo must follow a change");
    this.#labels = this.#history.pop();
  }

  /** The counts and sums of the examples that were added, as bytes; no text can be read from them. */
  exportAdded() {
    const added = [...this.#labels].filter(([, label]) => label.added);
    const parts = [ascii("LABELSX1"), integer(this.#width), integer(added.length), ascii(this.space)];
    for (const [name, label] of added) parts.push(...named(name), integer(label.added), floats(label.addedSums));
    return join(parts);
  }

  /** Adds what `exportAdded` of another table of the same space returned: one change. */
  merge(bytes) {
    const reader = new Reader(bytes, "LABELSX1");
    const [width, count, space] = [reader.integer(), reader.integer(), reader.text(16)];
    if (space !== this.space) throw new Error(`the space must be ${this.space}, as sums of another encoder cannot be added, got ${space}`);
    const [merged, none] = [new Map(this.#labels), new Float32Array(this.#width)];
    for (let number = 0; number < count; number += 1) {
      const [name, added, sums] = [reader.text(reader.integer()), reader.integer(), reader.floats(width)];
      if (added < 1 || width !== this.#width) throw new Error(WHOLE);
      merged.set(name, this.#grown(merged.get(name) ?? this.#label(none, 0, "examples", 0, none), sums, added));
    }
    reader.end();
    this.#change(merged);
  }

  /** The table as bytes, which the constructor reads. */
  toBytes() {
    const head = this.#head.slice();
    new DataView(head.buffer).setInt32(12, this.#labels.size, true);
    const parts = [head];
    for (const [name, { sums, weight, source, added, addedSums }] of this.#labels) {
      parts.push(...named(name), integer(SOURCES.indexOf(source)), double(weight), integer(added), floats(sums), floats(addedSums));
    }
    return join(parts);
  }

  #change(entries) {
    this.#history.push(this.#labels);
    this.#labels = new Map(entries);
  }

  #known(label) {
    if (!this.#labels.has(label)) throw new Error(`${label} must be one of the labels`);
    return this.#labels.get(label);
  }

  #grown({ sums, weight, source, added, addedSums }, more, count) {
    const plus = (one) => Float32Array.from(one, (value, axis) => value + more[axis]);
    // One that is not would be in the score of each text with this label, and no text would get another label.
    if (!plus(sums).every(Number.isFinite)) throw new Error(FINITE);
    return this.#label(plus(sums), weight + count, source, added + count, plus(addedSums));
  }

  /** A label with the factors of its normal density (Ioffe 2006), as a polynomial of coordinates. */
  #label(sums, weight, source, added, addedSums) {
    const terms = { squares: new Float64Array(this.#width), products: new Float64Array(this.#width), constant: 0 };
    this.#variances.forEach((prior, axis) => {
      const shrinkage = prior / (weight * prior + 1);
      const [precision, mean] = [1 / (1 + shrinkage), shrinkage * sums[axis]];
      terms.squares[axis] = 0.5 * (1 / (1 + prior) - precision);
      terms.products[axis] = precision * mean;
      terms.constant += 0.5 * (Math.log(precision) + Math.log1p(prior) - precision * mean * mean);
    });
    const bias = source === "rows" ? 0 : this.#addedBias * Math.min(1, BIAS_EXAMPLES / weight);
    return { sums, weight, source, added, addedSums, terms, bias };
  }

  #sum(vectors) {
    const sums = new Float64Array(this.#width);
    for (const vector of vectors) this.#project(vector).forEach((place, axis) => { sums[axis] += place; });
    return sums;
  }

  #project(vector) {
    if (vector.length !== this.#width) throw new Error(`a vector must be ${this.#width} wide, got ${vector.length}`);
    if (!vector.every(Number.isFinite)) throw new Error(FINITE);
    const places = new Float64Array(this.#width);
    vector.forEach((value, row) => {
      const [difference, first] = [value - this.#center[row], row * this.#width];
      for (let axis = 0; axis < this.#width; axis += 1) places[axis] += difference * this.#axes[first + axis];
    });
    return places;
  }
}

/** Reads little-endian values one after the other; throws an Error where the bytes are not those of a whole file. */
class Reader {
  constructor(bytes, kind) {
    [this.bytes, this.place] = [bytes, 0];
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8 || this.text(8) !== kind) throw new Error(`the bytes must begin with ${kind}`);
  }

  #take(size) {
    const place = this.place;
    if (!(size >= 0 && place + size <= this.bytes.length)) throw new Error(WHOLE);
    this.place += size;
    return place;
  }

  integer() { return this.view.getInt32(this.#take(4), true); }

  double() { return this.view.getFloat64(this.#take(8), true); }

  text(size) {
    const place = this.#take(size);
    return new TextDecoder().decode(this.bytes.subarray(place, place + size));
  }

  floats(size) {
    const place = this.#take(4 * size);
    return Float32Array.from({ length: size }, (_, index) => this.view.getFloat32(place + 4 * index, true));
  }

  halves(size) {
    const place = this.#take(2 * size);
    return Float32Array.from({ length: size }, (_, index) => fromHalf(this.view.getUint16(place + 2 * index, true)));
  }

  end() { if (this.place !== this.bytes.length) throw new Error(WHOLE); }
}

/** A finite float16. */
function fromHalf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

const ascii = (text) => new TextEncoder().encode(text);
const written = (size, write) => { const view = new DataView(new ArrayBuffer(size)); write(view); return new Uint8Array(view.buffer); };
const integer = (value) => written(4, (view) => view.setInt32(0, value, true));
const double = (value) => written(8, (view) => view.setFloat64(0, value, true));
const floats = (values) => written(4 * values.length, (view) => values.forEach((value, place) => view.setFloat32(4 * place, value, true)));
const named = (name) => [integer(ascii(name).length), ascii(name)];

function join(parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((place, part) => { whole.set(part, place); return place + part.length; }, 0);
  return whole;
}

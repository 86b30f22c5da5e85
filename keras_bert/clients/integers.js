/**
 * Products of integers by the vector instructions of the browser (WebAssembly SIMD), written here as the bytes of a module
 * of one function. Where a browser has none, plain JavaScript computes the same numbers, as sums of integers are exact.
 */

// Instructions by their codes in the specification of WebAssembly 2.0, section 5.4.
const LOCAL_GET = 0x20, LOCAL_SET = 0x21, LOOP = 0x03, BRANCH_IF = 0x0d, END = 0x0b, I32_CONST = 0x41, I32_ADD = 0x6a, I32_SUB = 0x6b;
const NOTHING = 0x40, I32 = 0x7f, V128 = 0x7b, FUNCTION = 0x60;
const ADD_LANES = [0xfd, 0xae, 0x01], DOT = [0xfd, 0xba, 0x01], LOAD = [0xfd, 0x00, 0x04], LOAD_BYTES = [0xfd, 0x01, 0x03];
const STORE = [0xfd, 0x0b, 0x04], SHUFFLE = [0xfd, 0x0d], ZERO = [0xfd, 0x0c, ...Array(16).fill(0)];

const PAGE_BYTES = 65536; // of WebAssembly's memory
// Rows, columns and the numbers of a row that the function takes at once; operands are padded with zeros to multiples.
const ROWS = 2, COLUMNS = 4, INNER = 8;

/** A number as LEB128, signed, as constants are. */
function leb(number) {
  const bytes = [];
  for (;;) {
    const byte = number & 127;
    number >>= 7;
    if (number === (byte & 64 ? -1 : 0)) return [...bytes, byte];
    bytes.push(byte | 128);
  }
}

const section = (id, ...bytes) => [id, ...leb(bytes.length), ...bytes];
const get = (local) => [LOCAL_GET, local];
const set = (local) => [LOCAL_SET, local];
const advance = (local, ...amount) => [...get(local), ...amount, I32_ADD, ...set(local)];
const countDown = (local, by) => [...get(local), I32_CONST, by, I32_SUB, ...set(local), ...get(local), BRANCH_IF, 0];
const twice = (...amount) => [...amount, ...amount, I32_ADD];
const repeat = (...body) => [LOOP, NOTHING, ...body, END];
/** Four lanes of 32 bits of the two vectors on the stack, by their numbers from 0 to 7. */
const shuffle = (...lanes) => [...SHUFFLE, ...lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte))];

/** The module: `multiply(left, right, out, rows, columns, inner)`, places in memory and the padded sizes. */
function moduleBytes() {
  const [left, right, out, rows, columns, inner] = [0, 1, 2, 3, 4, 5];
  const [column, rest, row, next, weights] = [6, 7, 8, 9, 10]; // integers
  const [first, second] = [11, 12]; // eight numbers of each of two rows
  const sums = (of, at) => 13 + 4 * of + at; // four lanes of a product of each row with each column
  const kernels = (at) => 21 + at;
  const forColumns = (visit) => [0, 1, 2, 3].flatMap(visit);
  const accumulate = (of, numbers) => forColumns((at) => [
    ...get(sums(of, at)), ...get(numbers), ...get(kernels(at)), ...DOT, ...ADD_LANES, ...set(sums(of, at)),
  ]);
  // Four sums of four lanes become one vector.
  const pair = (of, at) => [
    ...get(sums(of, at)), ...get(sums(of, at + 1)), ...shuffle(0, 4, 1, 5),
    ...get(sums(of, at)), ...get(sums(of, at + 1)), ...shuffle(2, 6, 3, 7), ...ADD_LANES,
  ];
  const finish = (of) => [
    ...pair(of, 0), ...set(kernels(0)), ...pair(of, 2), ...set(kernels(1)),
    ...get(kernels(0)), ...get(kernels(1)), ...shuffle(0, 1, 4, 5),
    ...get(kernels(0)), ...get(kernels(1)), ...shuffle(2, 3, 6, 7), ...ADD_LANES,
  ];
  const loadKernels = forColumns((at) => [
    ...get(weights), ...Array(at).fill([...get(inner), I32_ADD]).flat(), ...LOAD_BYTES, 0, ...set(kernels(at)),
  ]);
  const body = repeat(
    ...get(right), ...set(weights), ...get(columns), ...set(column),
    ...repeat(
      ...[0, 1].flatMap((of) => forColumns((at) => [...ZERO, ...set(sums(of, at))])),
      ...get(left), ...set(row), ...get(left), ...twice(...get(inner)), I32_ADD, ...set(next),
      ...get(inner), ...set(rest),
      ...repeat(
        ...get(row), ...LOAD, 0, ...set(first), ...get(next), ...LOAD, 0, ...set(second), ...loadKernels,
        ...accumulate(0, first), ...accumulate(1, second),
        ...advance(row, I32_CONST, 2 * INNER), ...advance(next, I32_CONST, 2 * INNER), ...advance(weights, I32_CONST, INNER),
        ...countDown(rest, INNER),
      ),
      // The weights have gone along one column of the four.
      ...forColumns((at) => at ? advance(weights, ...get(inner)) : []),
      ...get(out), ...finish(0), ...STORE, 0,
      ...get(out), ...twice(...twice(...get(columns))), I32_ADD, ...finish(1), ...STORE, 0,
      ...advance(out, I32_CONST, 4 * COLUMNS),
      ...countDown(column, COLUMNS),
    ),
    ...advance(out, ...twice(...twice(...get(columns)))),
    ...advance(left, ...twice(...twice(...get(inner)))),
    ...countDown(rows, ROWS),
  );
  const code = [2, 5, I32, 14, V128, ...body, END];
  const text = (name) => [name.length, ...new TextEncoder().encode(name)];
  return new Uint8Array([
    0, ...new TextEncoder().encode("asm"), 1, 0, 0, 0,
    ...section(1, 1, FUNCTION, 6, ...Array(6).fill(I32), 0),
    ...section(3, 1, 0),
    ...section(5, 1, 0, 1),
    ...section(7, 2, ...text("memory"), 2, 0, ...text("multiply"), 0, 0),
    ...section(10, 1, ...leb(code.length), ...code),
  ]);
}

const padded = (size, multiple) => multiple * Math.ceil(size / multiple);

/** Multiplies rows of integers with kernels, each of which it copies into its memory once. */
class IntegerProducts {
  constructor() {
    const { memory, multiply } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes())).exports;
    Object.assign(this, { memory, multiply, end: 0, places: new WeakMap(), left: { size: 0 }, out: { size: 0 } });
  }

  /**
   * (rows, inner) by (columns, inner) -> (rows, columns), exactly.
   * @param {Int16Array} left from -255 to 255.
   * @param {Int8Array} kernel
   * @returns {Int32Array}
   */
  run(left, kernel, rows, columns, inner) {
    const [tall, wide, deep] = [padded(rows, ROWS), padded(columns, COLUMNS), padded(inner, INNER)];
    if (!this.places.has(kernel)) {
      this.places.set(kernel, this.reserve(wide * deep));
      const bytes = new Int8Array(this.memory.buffer, this.places.get(kernel), wide * deep);
      for (let column = 0; column < columns; column += 1) {
        bytes.set(kernel.subarray(column * inner, (column + 1) * inner), column * deep);
      }
    }
    for (const [name, size] of [["left", 2 * tall * deep], ["out", 4 * tall * wide]]) {
      if (this[name].size < size) this[name] = { place: this.reserve(size), size };
    }
    const numbers = new Int16Array(this.memory.buffer, this.left.place, tall * deep).fill(0);
    for (let row = 0; row < rows; row += 1) numbers.set(left.subarray(row * inner, (row + 1) * inner), row * deep);
    this.multiply(this.left.place, this.places.get(kernel), this.out.place, tall, wide, deep);
    const products = new Int32Array(rows * columns);
    for (let row = 0; row < rows; row += 1) {
      products.set(new Int32Array(this.memory.buffer, this.out.place + 4 * row * wide, columns), row * columns);
    }
    return products;
  }

  /** The place of so many bytes of zeros. */
  reserve(bytes) {
    const place = this.end;
    this.end += padded(bytes, 16);
    const missing = this.end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    return place;
  }
}

let shared;

/** Exact products of integers, see `IntegerProducts.run`; null where the browser has no vector instructions. */
export function integerProducts(left, kernel, rows, columns, inner) {
  if (shared === undefined) shared = WebAssembly.validate(moduleBytes()) ? new IntegerProducts() : null;
  return shared && shared.run(left, kernel, rows, columns, inner);
}

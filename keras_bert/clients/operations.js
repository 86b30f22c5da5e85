/**
 * The operations of LiteRT that models of this project are made of. They answer as LiteRT does, but for the last bits of
 * sums; what is an integer there is computed as the number that it stands for, and then put on its grid.
 *
 * An operation takes its operands, the tensor that is wanted, its options and which of its outputs that tensor is, and
 * gives the values; a tensor has a shape, values, a type and, of integers, a grid: a scale and a zero.
 */

import { integerProducts } from "./integers.js";

export const FLOAT32 = 0, FLOAT16 = 1, INT32 = 2, INT64 = 4, BOOL = 6, INT16 = 7, INT8 = 9, INT4 = 17;
const ARRAYS = {
  [FLOAT32]: Float32Array, [INT32]: Int32Array, [BOOL]: Uint8Array, [INT16]: Int16Array, [INT8]: Int8Array,
};
/** The greatest number of the types whose tensors have a grid. */
const GREATEST = { [INT8]: 127, [INT16]: 32767 };

export const size = (shape) => shape.reduce((product, each) => product * each, 1);

/** Values, one made of each; `from` of the arrays themselves takes many times as long. */
function made(array, values, compute) {
  const found = new array(values.length);
  for (let place = 0; place < found.length; place += 1) found[place] = compute(values[place], place);
  return found;
}

/** What the values of a tensor with one grid stand for. */
export function real({ values, type, scale, zero }) {
  if (!GREATEST[type]) return values;
  const [step, middle] = [scale[0], zero[0]];
  const found = new Float32Array(values.length);
  for (let place = 0; place < found.length; place += 1) found[place] = step * (values[place] - middle);
  return found;
}

/** To whole numbers as the runtime does it: the even one of two that are as near. */
function round(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low;
}

/** Values as a tensor keeps them: on its grid, where it has one. */
export function store(values, { type, scale, zero }) {
  const array = ARRAYS[type];
  if (values instanceof array) return values;
  const greatest = GREATEST[type];
  if (!greatest) return made(array, values, (value) => value);
  const [inverse, middle] = [1 / scale[0], zero[0]];
  const found = new array(values.length);
  for (let place = 0; place < found.length; place += 1) {
    found[place] = Math.min(greatest, Math.max(-greatest - 1, round(values[place] * inverse) + middle));
  }
  return found;
}

/** Room for the numbers of a tensor before they are put on its grid. */
const results = ({ type, shape }) => new (GREATEST[type] ? Float32Array : ARRAYS[type])(size(shape));

/** An operation on the values of one, two or three tensors whose shapes fit as in NumPy. */
const elementwise = (compute) => (given, wanted) => {
  const [one, two = one, three = one] = given.map(real);
  const steps = [0, 1, 2].map((place) => spread((given[place] ?? given[0]).shape, wanted.shape));
  const found = results(wanted);
  walk(wanted.shape, steps, (start, [first, second, third], count, [a, b, c]) => {
    for (let place = 0; place < count; place += 1) {
      found[start + place] = compute(one[first + place * a], two[second + place * b], three[third + place * c]);
    }
  });
  return found;
};

/**
 * An operation on the values of one or two tensors, as `elementwise`, by a loop of its own along the last axis. One loop for all
 * operations, with a function for each entry, takes several times as long.
 */
const loop = (run) => (given, wanted) => {
  const [one, two = one] = given.map(real);
  const steps = [0, 1].map((place) => spread((given[place] ?? given[0]).shape, wanted.shape));
  const found = results(wanted);
  walk(wanted.shape, steps, (start, [first, second], count, [a, b]) => run(found, start, count, one, first, a, two, second, b));
  return found;
};

/** The steps of a shape's axes within a larger shape, 0 where it has but one entry. */
function spread(shape, wide) {
  const steps = Array(wide.length).fill(0);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    if (shape[axis] !== 1) steps[axis + wide.length - shape.length] = step;
    step *= shape[axis];
  }
  return steps;
}

/** Calls `visit(start, places, count, steps)` for each run along a shape's last axis, with each operand's place and step. */
function walk(shape, steps, visit) {
  const last = shape.length - 1;
  const count = shape[last] ?? 1;
  const inner = steps.map((own) => own[last] ?? 0);
  const places = steps.map(() => 0);
  const counters = shape.map(() => 0);
  const entries = size(shape);
  for (let start = 0; start < entries; start += count) {
    visit(start, places, count, inner);
    for (let axis = last - 1; axis >= 0; axis -= 1) {
      counters[axis] += 1;
      const back = counters[axis] === shape[axis];
      for (let operand = 0; operand < steps.length; operand += 1) {
        places[operand] += steps[operand][axis] * (back ? 1 - shape[axis] : 1);
      }
      if (!back) break;
      counters[axis] = 0;
    }
  }
}

/** Entries of a tensor by the places of its axes, as they are or on a grid. */
function pick(given, wanted, first, steps) {
  const found = new given.values.constructor(size(wanted.shape));
  walk(wanted.shape, [steps], (start, [from], count, [step]) => {
    for (let place = 0; place < count; place += 1) found[start + place] = given.values[first + from + place * step];
  });
  return moved(given, found);
}

/** What one step along each axis of a shape is in its values. */
const strides = (shape) => shape.map((_, axis) => size(shape.slice(axis + 1)));

/** Sums over axes, divided by as many entries as make one where the mean is wanted. */
const reduce = (mean) => ([given, axes], wanted) => {
  const values = real(given);
  const over = new Set(Array.from(axes.values, (axis) => (axis + given.shape.length) % given.shape.length));
  const kept = given.shape.map((length, axis) => (over.has(axis) ? 1 : length));
  const found = new Float64Array(size(wanted.shape));
  walk(given.shape, [spread(kept, given.shape)], (start, [to], count, [step]) => {
    for (let place = 0; place < count; place += 1) found[to + place * step] += values[start + place];
  });
  return mean ? found.map((sum) => (sum * found.length) / values.length) : found;
};

/** (rows, inner) by (columns, inner) -> (rows, columns), each kept in doubles while it is summed. */
function products(left, right, rows, columns, inner) {
  const found = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1) {
    const from = row * inner;
    let column = 0;
    // Four at once read a row's numbers once.
    for (; column + 4 <= columns; column += 4) {
      const first = column * inner, second = first + inner, third = second + inner, fourth = third + inner;
      let one = 0, two = 0, three = 0, four = 0;
      for (let place = 0; place < inner; place += 1) {
        const value = left[from + place];
        one += value * right[first + place];
        two += value * right[second + place];
        three += value * right[third + place];
        four += value * right[fourth + place];
      }
      const to = row * columns + column;
      found[to] = one;
      found[to + 1] = two;
      found[to + 2] = three;
      found[to + 3] = four;
    }
    for (; column < columns; column += 1) {
      let sum = 0;
      for (let place = 0; place < inner; place += 1) sum += left[from + place] * right[column * inner + place];
      found[row * columns + column] = sum;
    }
  }
  return found;
}

function fullyConnected([given, kernel, bias], wanted, { activation }) {
  const [columns, inner] = kernel.shape;
  const rows = size(given.shape) / inner;
  const { left, scales } = readRows(given, kernel, rows, inner);
  // Sums of products with 16 bits need more than the 32 bits that they have there, and less than the 53 of a double.
  const isInteger = kernel.values instanceof Int8Array && !kernel.scales && given.type !== INT16;
  const found = (isInteger && integerProducts(left, kernel.values, rows, columns, inner))
    || products(left, weights(kernel), rows, columns, inner);
  const units = unitScales(kernel, columns);
  const added = bias ? biases(bias, scales[0], units) : new Float64Array(columns);
  const answer = new Float64Array(rows * columns);
  for (let row = 0, place = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1, place += 1) {
      const value = found[place] * scales[row] * units[column] + added[column];
      answer[place] = activation === RELU ? Math.max(value, 0) : value;
    }
  }
  return answer;
}

const RELU = 1;

/** What a product reads, and the scale of each row. */
function readRows(given, kernel, rows, inner) {
  if (GREATEST[given.type]) {
    const zero = given.zero[0];
    const left = new Int16Array(given.values.length);
    for (let place = 0; place < left.length; place += 1) left[place] = given.values[place] - zero;
    return { left, scales: Array(rows).fill(given.scale[0]) };
  }
  return kernel.scale.length || kernel.scales
    ? roundRows(given.values, rows, inner)
    : { left: given.values, scales: Array(rows).fill(1) };
}

/** The scale of each unit; with scales for blocks of its inputs the weights have them in them. */
function unitScales({ scale, scales }, columns) {
  if (scales || !scale.length) return Array(columns).fill(1);
  return scale.length > 1 ? scale : Array(columns).fill(scale[0]);
}

/** A kernel as floats, made once: all products then run through one loop. */
function weights(kernel) {
  if (kernel.type === FLOAT32) return kernel.values;
  kernel.floats ??= kernel.scales ? blocked(kernel) : new Float32Array(kernel.values);
  return kernel.floats;
}

/** Weights with a scale for each block of inputs of a unit. */
function blocked({ values, scales, blocks, shape: [, inner] }) {
  const count = inner / blocks.size;
  return made(Float32Array, values, (value, place) => {
    const column = Math.floor(place / inner);
    return value * scales[column * count + Math.floor((place % inner) / blocks.size)];
  });
}

/** What is added to each unit: integers are multiples of the product's scales. */
function biases({ type, values }, scale, units) {
  return made(Float64Array, values, (value, column) => (type === FLOAT32 ? value : value * scale * units[column]));
}

/** Rows on 8-bit grids of their own from their least to their greatest value, 0 among them (LiteRT's `qd8`). */
function roundRows(values, rows, inner) {
  const left = new Int16Array(values.length);
  const scales = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) {
    let low = 0, high = 0;
    for (let place = row * inner; place < (row + 1) * inner; place += 1) {
      low = Math.min(low, values[place]);
      high = Math.max(high, values[place]);
    }
    // In 32 bits, as there: multiples of a scale, as tables of positions are, often lie in the middle of two steps.
    const inverse = low === high ? 1 : Math.fround(255 / Math.fround(high - low));
    const scale = Math.fround(1 / inverse);
    const zero = Math.min(127, Math.max(-128, round(Math.fround(-128 - Math.fround(low * inverse)))));
    for (let place = row * inner; place < (row + 1) * inner; place += 1) {
      left[place] = Math.min(127, Math.max(-128, round(Math.fround(values[place] * inverse)) + zero)) - zero;
    }
    scales[row] = scale;
  }
  return { left, scales };
}

function batchMatmul([left, right], wanted, { adjointLeft, adjointRight }) {
  const rank = wanted.shape.length;
  const [rows, columns] = wanted.shape.slice(-2);
  const inner = left.shape.at(adjointLeft ? -2 : -1);
  const [one, other] = [real(left), real(right)];
  const found = new Float32Array(size(wanted.shape));
  const outer = wanted.shape.slice(0, rank - 2);
  const steps = [left, right].map(({ shape }) => spread(shape.slice(0, -2), outer));
  walk(outer, steps, (start, [left, right], count, [step, otherStep]) => {
    for (let place = 0; place < count; place += 1) {
      const lefts = part(one, left + place * step, rows * inner);
      const rights = part(other, right + place * otherStep, columns * inner);
      const product = products(adjointLeft ? turned(lefts, inner, rows) : lefts,
        adjointRight ? rights : turned(rights, inner, columns), rows, columns, inner);
      found.set(product, (start + place) * rows * columns);
    }
  });
  return found;
}

const part = (values, index, count) => values.subarray(index * count, (index + 1) * count);

/** (rows, columns) -> (columns, rows). */
function turned(values, rows, columns) {
  return made(Float32Array, values, (_, place) => values[(place % rows) * columns + Math.floor(place / rows)]);
}

function softmax([given], wanted, { beta }) {
  const values = real(given);
  const width = given.shape.at(-1);
  const [found, powers] = [new Float32Array(values.length), new Float64Array(width)];
  for (let start = 0; start < values.length; start += width) {
    let [most, total] = [-Infinity, 0];
    for (let place = start; place < start + width; place += 1) most = Math.max(most, values[place]);
    for (let place = 0; place < width; place += 1) total += powers[place] = Math.exp(beta * (values[start + place] - most));
    for (let place = 0; place < width; place += 1) found[start + place] = powers[place] / total;
  }
  return found;
}

function gather([given, indices], wanted, { axis, batches }) {
  if (batches) throw new Error("a gather by batches is not known here");
  const from = axis < 0 ? axis + given.shape.length : axis;
  const inner = size(given.shape.slice(from + 1));
  const outer = size(given.shape.slice(0, from));
  const found = new given.values.constructor(size(wanted.shape));
  let place = 0;
  for (let block = 0; block < outer; block += 1) {
    for (const index of indices.values) {
      const start = (block * given.shape[from] + index) * inner;
      found.set(given.values.subarray(start, start + inner), place);
      place += inner;
    }
  }
  return moved(given, found);
}

function transpose([given, axes], wanted) {
  const steps = strides(given.shape);
  return pick(given, wanted, 0, Array.from(axes.values, (axis) => steps[axis]));
}

function stridedSlice([given, begin, , by], wanted, { beginMask, shrinkMask }) {
  const steps = strides(given.shape);
  const masked = (mask, axis) => (mask >> axis) & 1;
  const starts = given.shape.map((length, axis) => (masked(beginMask, axis) ? 0 : (begin.values[axis] + length) % length));
  const first = starts.reduce((sum, index, axis) => sum + index * steps[axis], 0);
  const kept = steps.map((step, axis) => step * by.values[axis]).filter((_, axis) => !masked(shrinkMask, axis));
  return pick(given, wanted, first, kept);
}

/** One of the equal parts of a tensor along an axis. */
function split([axis, given], wanted, _, output) {
  const steps = strides(given.shape);
  const along = positive(axis.values[0], given);
  return pick(given, wanted, output * wanted.shape[along] * steps[along], steps);
}

/** Writes values of a shape into a larger one, from a place on. */
function fill(found, wanted, values, shape, first) {
  walk(shape, [strides(wanted.shape)], (start, [to], count, [step]) => {
    for (let place = 0; place < count; place += 1) found[first + to + place * step] = values[start + place];
  });
}

function concatenate(given, wanted, { axis }) {
  const along = positive(axis, wanted);
  const step = strides(wanted.shape)[along];
  const found = results(wanted);
  let before = 0;
  for (const part of given) {
    fill(found, wanted, real(part), part.shape, before * step);
    before += part.shape[along];
  }
  return found;
}

function pad([given, widths, value], wanted) {
  const found = results(wanted).fill(value ? real(value)[0] : 0);
  const first = strides(wanted.shape).reduce((sum, step, axis) => sum + step * widths.values[2 * axis], 0);
  fill(found, wanted, real(given), given.shape, first);
  return found;
}

/** Sums of the entries up to each one, itself among them: `tf.cumsum` without options, as the graphs have it. */
function cumulate([given, axis], wanted) {
  const along = positive(axis.values[0], given);
  const step = strides(given.shape)[along];
  const found = results(wanted);
  real(given).forEach((value, place) => {
    found[place] = value + (Math.floor(place / step) % given.shape[along] ? found[place - step] : 0);
  });
  return found;
}

/** An axis that may be counted from the end, counted from the start. */
const positive = (axis, { shape }) => (axis + shape.length) % shape.length;

/** What is only moved keeps its grid, or is written on another one. */
const moved = (given, values) => (GREATEST[given.type] ? real({ ...given, values }) : values);

/** The error function to 1.2e-7 (Press et al., Numerical Recipes, 3rd edition, section 6.2.2: `erfcc`). */
function erf(value) {
  const t = 1 / (1 + 0.5 * Math.abs(value));
  const sum = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807
    + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const rest = t * Math.exp(-value * value + sum);
  return value >= 0 ? 1 - rest : rest - 1;
}

const GELU_SLOPE = Math.sqrt(2 / Math.PI);
const GELU = loop((found, start, count, one, first, a) => {
  for (let place = 0; place < count; place += 1) {
    const value = one[first + place * a];
    found[start + place] = 0.5 * value * (1 + erf(value / Math.SQRT2));
  }
});
const GELU_TANH = elementwise((value) => 0.5 * value * (1 + Math.tanh(GELU_SLOPE * (value + 0.044715 * value ** 3))));
const ADD = loop((found, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) found[start + place] = one[first + place * a] + two[second + place * b];
});
const SQUARED_DIFFERENCE = loop((found, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) {
    const difference = one[first + place * a] - two[second + place * b];
    found[start + place] = difference * difference;
  }
});
const MUL = loop((found, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) found[start + place] = one[first + place * a] * two[second + place * b];
});

const same = ([given]) => real(given);

/** By LiteRT's number: the name, what computes it, and what reads its options. */
export const OPERATIONS = {
  0: ["ADD", ADD],
  2: ["CONCATENATION", concatenate, (table) => ({ axis: table.int(0) })],
  6: ["DEQUANTIZE", same],
  9: ["FULLY_CONNECTED", fullyConnected, (table) => ({ activation: table.byte(0) })],
  18: ["MUL", MUL],
  19: ["RELU", elementwise((value) => Math.max(value, 0))],
  22: ["RESHAPE", same],
  25: ["SOFTMAX", softmax, (table) => ({ beta: table.float(0) })],
  28: ["TANH", elementwise(Math.tanh)],
  34: ["PAD", pad],
  36: ["GATHER", gather, (table) => ({ axis: table.int(0), batches: table.int(1) })],
  39: ["TRANSPOSE", transpose],
  40: ["MEAN", reduce(true)],
  41: ["SUB", elementwise((one, other) => one - other)],
  42: ["DIV", elementwise((one, other) => one / other)],
  45: ["STRIDED_SLICE", stridedSlice, (table) => ({ beginMask: table.int(0), shrinkMask: table.int(4) })],
  49: ["SPLIT", split],
  53: ["CAST", same],
  55: ["MAXIMUM", elementwise(Math.max)],
  57: ["MINIMUM", elementwise(Math.min)],
  59: ["NEG", elementwise((value) => -value)],
  60: ["PADV2", pad],
  61: ["GREATER", elementwise((one, other) => (one > other ? 1 : 0))],
  71: ["EQUAL", elementwise((one, other) => (one === other ? 1 : 0))],
  74: ["SUM", reduce(false)],
  76: ["RSQRT", elementwise((value) => 1 / Math.sqrt(value))],
  92: ["SQUARE", elementwise((value) => value * value)],
  99: ["SQUARED_DIFFERENCE", SQUARED_DIFFERENCE],
  114: ["QUANTIZE", same],
  123: ["SELECT_V2", elementwise((test, yes, no) => (test ? yes : no))],
  126: ["BATCH_MATMUL", batchMatmul, (table) => ({ adjointLeft: table.byte(0), adjointRight: table.byte(1) })],
  128: ["CUMSUM", cumulate],
  150: ["GELU", (given, wanted, { approximate }) => (approximate ? GELU_TANH : GELU)(given, wanted), (table) => ({ approximate: table.byte(0) })],
};

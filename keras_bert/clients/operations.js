/**
 * The operations of LiteRT that models of this project consist of. Results are those of LiteRT, but for the last bits of
 * sums: integers are computed as the real numbers that they stand for, and then quantized.
 *
 * An operation takes its operands, the tensor to compute, its options and the index of that tensor among its outputs, and
 * returns the values; a tensor has a shape, values, a type and, of integers, a grid: a scale and a zero.
 */

import { integerProducts } from "./integers.js";

export const FLOAT32 = 0, FLOAT16 = 1, INT32 = 2, INT64 = 4, BOOL = 6, INT16 = 7, INT8 = 9, INT4 = 17;
/** Of `FLOAT16` there is no array: the values, which are read as `Float32Array`, are only looked up and unpacked. */
const ARRAYS = {
  [FLOAT32]: Float32Array, [FLOAT16]: Float32Array, [INT32]: Int32Array, [BOOL]: Uint8Array, [INT16]: Int16Array, [INT8]: Int8Array,
};
/** The greatest number of the types whose tensors have a grid. */
const GREATEST = { [INT8]: 127, [INT16]: 32767 };

export const size = (shape) => shape.reduce((product, length) => product * length, 1);

/** A function of each value, in an array of a type; `from` of the arrays themselves takes many times as long. */
function mapInto(array, values, compute) {
  const result = new array(values.length);
  for (let place = 0; place < result.length; place += 1) result[place] = compute(values[place], place);
  return result;
}

/** The real numbers that the values of a tensor with one grid stand for. */
export function real({ values, type, scale, zero }) {
  if (!GREATEST[type]) return values;
  const [step, middle] = [scale[0], zero[0]];
  const result = new Float32Array(values.length);
  for (let place = 0; place < result.length; place += 1) result[place] = step * (values[place] - middle);
  return result;
}

/** To the nearest integer as the runtime does it: ties go to the even one. */
function round(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low;
}

/** Values in the type of a tensor, quantized where it has a grid. */
export function store(values, { type, scale, zero }) {
  const array = ARRAYS[type];
  if (values instanceof array) return values;
  const greatest = GREATEST[type];
  if (!greatest) return mapInto(array, values, (value) => value);
  const [inverse, middle] = [1 / scale[0], zero[0]];
  const result = new array(values.length);
  for (let place = 0; place < result.length; place += 1) {
    result[place] = Math.min(greatest, Math.max(-greatest - 1, round(values[place] * inverse) + middle));
  }
  return result;
}

/** An array for the real numbers of a tensor before they are quantized. */
const allocate = ({ type, shape }) => new (GREATEST[type] ? Float32Array : ARRAYS[type])(size(shape));

/** An operation on the values of one, two or three tensors whose shapes fit as in NumPy. */
const elementwise = (compute) => (inputs, output) => {
  const [one, two = one, three = one] = inputs.map(real);
  const steps = [0, 1, 2].map((place) => spread((inputs[place] ?? inputs[0]).shape, output.shape));
  const result = allocate(output);
  walk(output.shape, steps, (start, [first, second, third], count, [a, b, c]) => {
    for (let place = 0; place < count; place += 1) {
      result[start + place] = compute(one[first + place * a], two[second + place * b], three[third + place * c]);
    }
  });
  return result;
};

/**
 * An operation on the values of one or two tensors, as `elementwise`, by a loop of its own along the last axis. One loop for all
 * operations, with a function for each entry, takes several times as long.
 */
const loop = (run) => (inputs, output) => {
  const [one, two = one] = inputs.map(real);
  const steps = [0, 1].map((place) => spread((inputs[place] ?? inputs[0]).shape, output.shape));
  const result = allocate(output);
  walk(output.shape, steps, (start, [first, second], count, [a, b]) => run(result, start, count, one, first, a, two, second, b));
  return result;
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
  const inner = steps.map((operand) => operand[last] ?? 0);
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

/** Entries of an array by the places of a shape's axes. */
function select(values, shape, first, steps) {
  const result = new values.constructor(size(shape));
  walk(shape, [steps], (start, [from], count, [step]) => {
    for (let place = 0; place < count; place += 1) result[start + place] = values[first + from + place * step];
  });
  return result;
}

/** Entries of a tensor, as they are or on a grid. */
const pick = (input, output, first, steps) => real({ ...input, values: select(input.values, output.shape, first, steps) });

/** The first values along each axis of a tensor, as many as a smaller shape has. */
export const firstValues = (tensor, shape) => select(tensor.values, shape, 0, strides(tensor.shape));

/** The distance of neighbours along each axis of a shape, in values. */
const strides = (shape) => shape.map((_, axis) => size(shape.slice(axis + 1)));

/** Sums over axes, or means. */
const reduce = (mean) => ([input, axes], output) => {
  const values = real(input);
  const over = new Set(Array.from(axes.values, (axis) => positive(axis, input)));
  const reduced = input.shape.map((length, axis) => (over.has(axis) ? 1 : length));
  const result = new Float64Array(size(output.shape));
  walk(input.shape, [spread(reduced, input.shape)], (start, [to], count, [step]) => {
    for (let place = 0; place < count; place += 1) result[to + place * step] += values[start + place];
  });
  return mean ? result.map((sum) => (sum * result.length) / values.length) : result;
};

/** (rows, inner) by (columns, inner) -> (rows, columns), each kept in doubles while it is summed. */
function products(left, right, rows, columns, inner) {
  const result = new Float64Array(rows * columns);
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
      result[to] = one;
      result[to + 1] = two;
      result[to + 2] = three;
      result[to + 3] = four;
    }
    for (; column < columns; column += 1) {
      let sum = 0;
      for (let place = 0; place < inner; place += 1) sum += left[from + place] * right[column * inner + place];
      result[row * columns + column] = sum;
    }
  }
  return result;
}

function fullyConnected([input, kernel, bias], output, { activation }) {
  const [columns, inner] = kernel.shape;
  const rows = size(input.shape) / inner;
  const { left, scales } = readRows(input, kernel, rows, inner);
  // Sums of products with 16 bits need more than the 32 bits that they have there, and less than the 53 of a double.
  const isInteger = kernel.values instanceof Int8Array && !kernel.scales && input.type !== INT16;
  const result = (isInteger && integerProducts(left, kernel.values, rows, columns, inner))
    || products(left, weights(kernel), rows, columns, inner);
  const units = unitScales(kernel, columns);
  const added = bias ? biases(bias, scales[0], units) : new Float64Array(columns);
  const answer = new Float64Array(rows * columns);
  for (let row = 0, place = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1, place += 1) {
      const value = result[place] * scales[row] * units[column] + added[column];
      answer[place] = activation === RELU ? Math.max(value, 0) : value;
    }
  }
  return answer;
}

const RELU = 1;

/** The rows of a product, and the scale of each. */
function readRows(input, kernel, rows, inner) {
  if (GREATEST[input.type]) {
    const zero = input.zero[0];
    const left = new Int16Array(input.values.length);
    for (let place = 0; place < left.length; place += 1) left[place] = input.values[place] - zero;
    return { left, scales: Array(rows).fill(input.scale[0]) };
  }
  return kernel.scale.length || kernel.scales
    ? roundRows(input.values, rows, inner)
    : { left: input.values, scales: Array(rows).fill(1) };
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
  return mapInto(Float32Array, values, (value, place) => {
    const column = Math.floor(place / inner);
    return value * scales[column * count + Math.floor((place % inner) / blocks.size)];
  });
}

/** The bias of each unit: integers are multiples of the product's scales. */
function biases({ type, values }, scale, units) {
  return mapInto(Float64Array, values, (value, column) => (type === FLOAT32 ? value : value * scale * units[column]));
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

function batchMatmul([left, right], output, { adjointLeft, adjointRight }) {
  const rank = output.shape.length;
  const [rows, columns] = output.shape.slice(-2);
  const inner = left.shape.at(adjointLeft ? -2 : -1);
  const [one, other] = [real(left), real(right)];
  const result = new Float32Array(size(output.shape));
  const outer = output.shape.slice(0, rank - 2);
  const steps = [left, right].map(({ shape }) => spread(shape.slice(0, -2), outer));
  walk(outer, steps, (start, [left, right], count, [step, otherStep]) => {
    for (let place = 0; place < count; place += 1) {
      const lefts = part(one, left + place * step, rows * inner);
      const rights = part(other, right + place * otherStep, columns * inner);
      const product = products(adjointLeft ? transposed(lefts, inner, rows) : lefts,
        adjointRight ? rights : transposed(rights, inner, columns), rows, columns, inner);
      result.set(product, (start + place) * rows * columns);
    }
  });
  return result;
}

const part = (values, index, count) => values.subarray(index * count, (index + 1) * count);

/** (rows, columns) -> (columns, rows). */
function transposed(values, rows, columns) {
  return mapInto(Float32Array, values, (_, place) => values[(place % rows) * columns + Math.floor(place / rows)]);
}

function softmax([input], output, { beta }) {
  const values = real(input);
  const width = input.shape.at(-1);
  const [result, powers] = [new Float32Array(values.length), new Float64Array(width)];
  for (let start = 0; start < values.length; start += width) {
    let [most, total] = [-Infinity, 0];
    for (let place = start; place < start + width; place += 1) most = Math.max(most, values[place]);
    for (let place = 0; place < width; place += 1) total += powers[place] = Math.exp(beta * (values[start + place] - most));
    for (let place = 0; place < width; place += 1) result[start + place] = powers[place] / total;
  }
  return result;
}

function gather([input, indices], output, { axis, batches }) {
  if (batches) throw new Error("a gather by batches is not supported here");
  const along = positive(axis, input);
  const inner = size(input.shape.slice(along + 1));
  const outer = size(input.shape.slice(0, along));
  const result = new input.values.constructor(size(output.shape));
  let place = 0;
  for (let block = 0; block < outer; block += 1) {
    for (const index of indices.values) {
      const start = (block * input.shape[along] + index) * inner;
      result.set(input.values.subarray(start, start + inner), place);
      place += inner;
    }
  }
  return real({ ...input, values: result });
}

function transpose([input, axes], output) {
  const steps = strides(input.shape);
  return pick(input, output, 0, Array.from(axes.values, (axis) => steps[axis]));
}

function stridedSlice([input, begin, , by], output, { beginMask, shrinkMask }) {
  const steps = strides(input.shape);
  const masked = (mask, axis) => (mask >> axis) & 1;
  const starts = input.shape.map((length, axis) => (masked(beginMask, axis) ? 0 : (begin.values[axis] + length) % length));
  const first = starts.reduce((sum, index, axis) => sum + index * steps[axis], 0);
  const remaining = steps.map((step, axis) => step * by.values[axis]).filter((_, axis) => !masked(shrinkMask, axis));
  return pick(input, output, first, remaining);
}

/** One of the equal parts of a tensor along an axis. */
function split([axis, input], output, _, index) {
  const steps = strides(input.shape);
  const along = positive(axis.values[0], input);
  return pick(input, output, index * output.shape[along] * steps[along], steps);
}

/** Writes values of a shape into a larger one, from a place on. */
function fill(result, output, values, shape, first) {
  walk(shape, [strides(output.shape)], (start, [to], count, [step]) => {
    for (let place = 0; place < count; place += 1) result[first + to + place * step] = values[start + place];
  });
}

function concatenate(inputs, output, { axis }) {
  const along = positive(axis, output);
  const step = strides(output.shape)[along];
  const result = allocate(output);
  let before = 0;
  for (const part of inputs) {
    fill(result, output, real(part), part.shape, before * step);
    before += part.shape[along];
  }
  return result;
}

function pad([input, widths, value], output) {
  const result = allocate(output).fill(value ? real(value)[0] : 0);
  const first = strides(output.shape).reduce((sum, step, axis) => sum + step * widths.values[2 * axis], 0);
  fill(result, output, real(input), input.shape, first);
  return result;
}

/** Sums of the entries up to each one, itself among them: `tf.cumsum` without options, as the graphs have it. */
function cumulate([input, axis], output) {
  const along = positive(axis.values[0], input);
  const step = strides(input.shape)[along];
  const result = allocate(output);
  real(input).forEach((value, place) => {
    result[place] = value + (Math.floor(place / step) % input.shape[along] ? result[place - step] : 0);
  });
  return result;
}

/** An axis that may be counted from the end, counted from the start. */
const positive = (axis, { shape }) => (axis + shape.length) % shape.length;

/** The error function to 1.2e-7 (Press et al., Numerical Recipes, 3rd edition, section 6.2.2: `erfcc`). */
function erf(value) {
  const t = 1 / (1 + 0.5 * Math.abs(value));
  const sum = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807
    + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const rest = t * Math.exp(-value * value + sum);
  return value >= 0 ? 1 - rest : rest - 1;
}

const GELU_SLOPE = Math.sqrt(2 / Math.PI);
const GELU = loop((result, start, count, one, first, a) => {
  for (let place = 0; place < count; place += 1) {
    const value = one[first + place * a];
    result[start + place] = 0.5 * value * (1 + erf(value / Math.SQRT2));
  }
});
const GELU_TANH = elementwise((value) => 0.5 * value * (1 + Math.tanh(GELU_SLOPE * (value + 0.044715 * value ** 3))));
const ADD = loop((result, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) result[start + place] = one[first + place * a] + two[second + place * b];
});
const SUB = loop((result, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) result[start + place] = one[first + place * a] - two[second + place * b];
});
const SQUARED_DIFFERENCE = loop((result, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) {
    const difference = one[first + place * a] - two[second + place * b];
    result[start + place] = difference * difference;
  }
});
const MUL = loop((result, start, count, one, first, a, two, second, b) => {
  for (let place = 0; place < count; place += 1) result[start + place] = one[first + place * a] * two[second + place * b];
});

const same = ([input]) => real(input);

/** By LiteRT's number: operands that are not read here, as shapes of outputs say the same. */
export const UNREAD_OPERANDS = { 22: [1], 45: [2] };

/** By LiteRT's number: the name, what computes it, and what reads its options. */
export const OPERATIONS = {
  0: ["ADD", ADD],
  2: ["CONCATENATION", concatenate, (table) => ({ axis: table.int(0) })],
  6: ["DEQUANTIZE", same],
  8: ["FLOOR", elementwise(Math.floor)],
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
  41: ["SUB", SUB],
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
  72: ["NOT_EQUAL", elementwise((one, other) => (one !== other ? 1 : 0))],
  74: ["SUM", reduce(false)],
  76: ["RSQRT", elementwise((value) => 1 / Math.sqrt(value))],
  92: ["SQUARE", elementwise((value) => value * value)],
  99: ["SQUARED_DIFFERENCE", SQUARED_DIFFERENCE],
  114: ["QUANTIZE", same],
  123: ["SELECT_V2", elementwise((test, yes, no) => (test ? yes : no))],
  126: ["BATCH_MATMUL", batchMatmul, (table) => ({ adjointLeft: table.byte(0), adjointRight: table.byte(1) })],
  128: ["CUMSUM", cumulate],
  150: ["GELU", (inputs, output, { approximate }) => (approximate ? GELU_TANH : GELU)(inputs, output), (table) => ({ approximate: table.byte(0) })],
};

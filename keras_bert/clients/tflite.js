/**
 * Runs a `.tflite` file of this project in plain JavaScript: no other code, no network. The layout is that of LiteRT's
 * schema (`schema.fbs`, version 3), where fields and types have their numbers from.
 */

import { Table } from "./flatbuffer.js";
import { BOOL, FLOAT16, FLOAT32, INT16, INT32, INT4, INT64, INT8, OPERATIONS, UNREAD_OPERANDS, firstValues, real, size, store } from "./operations.js";

export class TFLiteModel {
  /**
   * @param {Uint8Array} bytes of the file.
   * @throws {Error} the file is not a `.tflite` file, or holds an operation that is not supported here.
   */
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8 || new TextDecoder().decode(bytes.subarray(4, 8)) !== "TFL3") throw new Error("no .tflite file");
    const model = new Table(view, view.getUint32(0, true));
    this.bytes = bytes;
    this.buffers = model.tables(4);
    this.constants = new Map();
    const codes = model.tables(1).map((code) => Math.max(code.byte(0), code.int(3)));
    const graphs = model.tables(2).map((graph) => this.graph(graph, codes));
    /** Tokens -> the graph for rows of that length, with its tensors' names. */
    this.signatures = new Map();
    for (const signature of model.tables(6 + 1)) {
      const names = (field) => new Map(signature.tables(field).map((entry) => [entry.text(0), entry.int(1)]));
      const graph = graphs[signature.int(4)];
      const inputs = names(0);
      const length = graph.tensors[inputs.get("token_ids")].shape[1];
      this.signatures.set(length, { graph, inputs, outputs: names(1) });
    }
    this.lengths = [...this.signatures.keys()].sort((one, other) => one - other);
    this.axes = new Map(); // length -> see `tokenAxes`
  }

  /**
   * Answers one row, in the shortest signature that holds it, without padding where `tokenAxes` finds how to leave it out.
   * @param {{token_ids: number[], segment_ids: number[], padding_mask: number[]}} row without padding.
   * @returns {{values: Float32Array, shape: number[]}} the output, of which what runs along the tokens has at least as
   * many as the row.
   * @throws {Error} the row is too long.
   */
  run(row) {
    const tokens = row.token_ids.length;
    const length = this.lengths.find((limit) => tokens <= limit);
    if (!length) throw new Error(`a row must have at most ${this.lengths.at(-1)} tokens, got ${tokens}`);
    const { inputs, outputs, ...signature } = this.signatures.get(length);
    const graph = this.shorten(signature.graph, length, tokens);
    const values = new Map();
    for (const [name, index] of inputs) {
      values.set(index, Int32Array.from({ length: size(graph.tensors[index].shape) }, (_, place) => row[name][place] ?? 0));
    }
    for (const { operation, options, ins, outs } of graph.operations) {
      const operands = ins.map((index) => index < 0 ? null : this.tensor(graph, values, index));
      outs.forEach((index, output) => {
        const tensor = graph.tensors[index];
        values.set(index, store(operation(operands, tensor, options, output), tensor));
      });
    }
    const [index] = outputs.values();
    return { values: real(this.tensor(graph, values, index)), shape: graph.tensors[index].shape };
  }

  /** A signature's graph for fewer tokens than its length. */
  shorten(graph, length, tokens) {
    if (!this.axes.has(length)) this.axes.set(length, this.tokenAxes(length));
    const axes = this.axes.get(length);
    if (!axes || tokens === length) return graph;
    const tensors = graph.tensors.map((whole, index) => {
      const shape = whole.shape.map((count, axis) => tokens * axes[index][axis] || count);
      return { ...whole, shape, whole };
    });
    return { ...graph, tensors };
  }

  /**
   * Which axes of a signature's tensors run along the tokens, by comparison with the signature of another length: of each
   * axis its entries per token, 0 where it has as many in both. Null if there is no other length, or if the graphs
   * differ in more than the tokens: a constant of the shorter one must be the first values of that of the longer one.
   */
  tokenAxes(length) {
    const next = this.lengths.find((count) => count > length) ?? this.lengths.at(-2);
    if (!next) return null;
    const [one, other] = [length, next].map((tokens) => this.signatures.get(tokens).graph);
    const text = ({ operations, tensors }) => JSON.stringify([
      operations.map(({ code, options, ins, outs }) => [code, options, ins, outs]),
      tensors.map(({ shape, type, scale, zero }) => [shape.length, type, scale, zero]),
    ]);
    if (text(one) !== text(other)) return null;
    const axes = one.tensors.map(({ shape }, index) => shape.map((count, axis) => (
      count === other.tensors[index].shape[axis] ? 0 : count / length)));
    const fits = (perToken, index, axis) => Number.isInteger(perToken)
      && (!perToken || other.tensors[index].shape[axis] === perToken * next);
    if (!axes.every((entries, index) => entries.every((perToken, axis) => fits(perToken, index, axis)))) return null;
    const computed = new Set([...this.signatures.get(length).inputs.values(), ...one.operations.flatMap(({ outs }) => outs)]);
    const constants = one.operations.flatMap(({ code, ins }) => (
      ins.filter((index, operand) => index >= 0 && !computed.has(index) && !UNREAD_OPERANDS[code]?.includes(operand))));
    const [short, long] = length < next ? [one, other] : [other, one];
    const isPart = (index) => {
      const [few, many] = [short, long].map((graph) => this.tensor(graph, computed, index));
      if (few === many) return true;
      const first = firstValues(many, few.shape);
      return few.values.every((value, place) => value === first[place]);
    };
    return [...new Set(constants)].every(isPart) ? axes : null;
  }

  graph(graph, codes) {
    const tensors = graph.tables(0).map((tensor) => {
      const grid = tensor.table(4);
      const blocks = grid && grid.byte(4) === 2 ? grid.table(5) : null;
      return {
        shape: tensor.ints(0),
        type: tensor.byte(1),
        buffer: tensor.int(2),
        scale: grid ? grid.floats(2) : [],
        zero: grid ? grid.longs(3) : [],
        axis: grid ? grid.int(6) : 0,
        blocks: blocks && { scales: blocks.int(0), size: blocks.int(2) },
      };
    });
    const operations = graph.tables(3).map((table) => {
      const code = codes[table.int(0)];
      const [name, operation, read] = OPERATIONS[code] ?? [];
      if (!name) throw new Error(`operation ${code} of LiteRT is not supported here`);
      const optionTable = table.table(4);
      return { code, operation, options: read && optionTable ? read(optionTable) : {}, ins: table.ints(1), outs: table.ints(2) };
    });
    return { tensors, operations };
  }

  /** A tensor with its values: of a constant those of the file, read once for all signatures. */
  tensor(graph, values, index) {
    const { whole, ...part } = graph.tensors[index];
    if (values.has(index)) return { ...part, values: values.get(index) };
    const tensor = whole ?? part;
    const key = `${tensor.buffer} ${tensor.type} ${tensor.shape}`;
    if (!this.constants.has(key)) this.constants.set(key, { ...tensor, values: this.constant(tensor) });
    const constant = this.constants.get(key);
    if (tensor.blocks && !constant.scales) constant.scales = real(this.tensor(graph, values, tensor.blocks.scales));
    const isWhole = size(part.shape) === constant.values.length;
    return isWhole ? constant : { ...part, values: firstValues(constant, part.shape) };
  }

  constant(tensor) {
    const buffer = this.buffers[tensor.buffer];
    const far = buffer.at(1);
    const start = far && Number(buffer.view.getBigUint64(far, true));
    // Of a large file, data stands behind the model.
    const bytes = start > 1 ? this.bytes.subarray(start, start + Number(buffer.view.getBigUint64(buffer.at(2), true))) : buffer.bytes(0);
    const count = size(tensor.shape);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const readAll = (array, read) => array.from({ length: count }, (_, place) => read(place));
    switch (tensor.type) {
      case FLOAT32: return readAll(Float32Array, (place) => view.getFloat32(4 * place, true));
      case FLOAT16: return readAll(Float32Array, (place) => half(view.getUint16(2 * place, true)));
      case INT32: return readAll(Int32Array, (place) => view.getInt32(4 * place, true));
      case INT16: return readAll(Int16Array, (place) => view.getInt16(2 * place, true));
      case INT64: return readAll(Float64Array, (place) => Number(view.getBigInt64(8 * place, true)));
      case INT8: return readAll(Int8Array, (place) => view.getInt8(place));
      case BOOL: return readAll(Uint8Array, (place) => view.getUint8(place));
      case INT4: return readAll(Int8Array, (place) => (view.getUint8(place >> 1) << (place & 1 ? 24 : 28)) >> 28);
      default: throw new Error(`type ${tensor.type} of LiteRT is not supported here`);
    }
  }
}

/** A number of 16 bits (IEEE 754) as one of 64. */
function half(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

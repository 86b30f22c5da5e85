/** The self-test of a pushed folder: says as an app starts whether the file, the labels, the tokenizer and the outputs are right. */

const BLOCKS = 64, BLOCK = 64; // of a file, those that its hash is made of

/** FNV-1a of 32 bits. */
export function hashBytes(bytes, start = 0x811c9dc5) {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The hash of some blocks of a file, the first and the last among them. */
export function hashBlocks(bytes) {
  const room = Math.max(0, bytes.length - BLOCK);
  let hash = hashBytes([]);
  for (let block = 0; block < BLOCKS; block += 1) {
    const start = Math.floor(block * room / (BLOCKS - 1));
    hash = hashBytes(bytes.subarray(start, start + BLOCK), hash);
  }
  return hash;
}

/**
 * Which part of an app is wrong, as a sentence; empty if none is.
 *
 * @param {object} test the content of `self_test.json`.
 * @param {string} name of the file in the folder, such as "model.tflite".
 * @param {Uint8Array} bytes the file.
 * @param {string[]} labels those that the app shows, in the order of the outputs; none where there are none.
 * @param {WordPiece|Subwords} tokenizer the app's.
 * @param {number} maxLength `max_length` of `task.json`.
 * @param {function(object): Promise<ArrayLike<number>>|ArrayLike<number>} run from a row of the tokenizer to the numbers of its output.
 * @param {string} [task] of a model of several tasks: the name of the one that `run` answers.
 * @param {number} [leniency] how many times the tolerance an output may differ, in a runtime that rounds otherwise than LiteRT.
 */
export async function findFault(test, name, { bytes, labels = [], tokenizer, maxLength, run, task = "", leniency = 1 }) {
  const content = test.tasks ? test.tasks[task] : test;
  if (!content) return `task must be one of ${Object.keys(test.tasks).join(", ")}, got ${JSON.stringify(task)}`;
  const expected = content.files[name];
  if (!expected) return `self_test.json must have the file ${name}`;
  if (bytes.length !== expected.bytes) {
    return `${name} must have ${expected.bytes} bytes, got ${bytes.length}: it is truncated, or of another version`;
  }
  if (hashBlocks(bytes) !== expected.hash) return `${name} must be the file of its self-test: it is damaged, or of another version`;
  if (hashBytes(new TextEncoder().encode(labels.join("\n"))) !== content.labels) {
    return "the labels must be those of the training, in their order";
  }
  const rows = [];
  for (const { text, second, pieces, token_ids: ids, places, outputs } of content.rows) {
    const parts = (second === undefined ? [text] : [text, second]).map((part) => tokenizer.tokenize(part));
    const row = tokenizer.encode(parts, maxLength);
    if (String(parts[0].map(({ id }) => id)) !== String(pieces) || (ids && String(row.token_ids) !== String(ids))) {
      return `the tokenizer gives other tokens for ${JSON.stringify(text)}`;
    }
    if (outputs?.[name]) rows.push([row, places, outputs[name]]);
  }
  const [limit, differences] = [leniency * expected.tolerance, []];
  for (const [row, places, numbers] of rows) {
    const output = await run(row);
    const difference = Math.max(...numbers.map((value, index) => Math.abs(value - output[places[index]])));
    // A last bit may change one row, a wrong computation changes all; NaN is never within a tolerance.
    if (difference <= limit) return "";
    differences.push(difference);
  }
  return !rows.length ? "" : `the outputs of ${name} differ from those of its self-test by at least ${Math.min(...differences).toFixed(4)}, more than `
    + `${limit.toFixed(4)}: this processor or its runtime computes otherwise`;
}

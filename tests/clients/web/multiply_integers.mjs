// Multiplies integers by the vector instructions of WebAssembly and one by one, and tells how many products differ.
//
//     node multiply_integers.mjs < SHAPES.json
//
// A shape is [rows, columns, inner]; all shapes share one memory, and each is multiplied twice.

import { text as read } from "node:stream/consumers";
import { integerProducts } from "../../../keras_bert/clients/integers.js";

let seed = 1;
/** An integer from -limit to limit; both ends come often. */
function draw(limit) {
  seed = (Math.imul(1103515245, seed) + 12345) >>> 0;
  const kind = (seed >> 8) % 4;
  return kind < 2 ? (kind ? limit : -limit) : ((seed >> 10) % (2 * limit + 1)) - limit;
}

function countDifferences([rows, columns, inner]) {
  const kernel = Int8Array.from({ length: columns * inner }, () => draw(127));
  let different = 0;
  for (const turn of [0, 1]) {
    const left = Int16Array.from({ length: rows * inner }, () => draw(255));
    const products = integerProducts(left, kernel, rows, columns, inner);
    if (!products) throw new Error(`node must have vector instructions of WebAssembly, got none in turn ${turn}`);
    for (let place = 0; place < products.length; place += 1) {
      const [row, column] = [Math.floor(place / columns), place % columns];
      let sum = 0;
      for (let at = 0; at < inner; at += 1) sum += left[row * inner + at] * kernel[column * inner + at];
      different += Number(sum !== products[place]);
    }
  }
  return different;
}

process.stdout.write(JSON.stringify(JSON.parse(await read(process.stdin)).map(countDifferences)));

// Applies the operations of stdin to a table and prints its answers: `node change.mjs label_table.js label_table.bin`.
import { readFileSync } from "node:fs";

const [code, file] = process.argv.slice(2);
const { LabelTable } = await import(code);
const table = new LabelTable(new Uint8Array(readFileSync(file)));
const changes = {
  add: ([label, , vectors]) => table.add(label, vectors),
  name: ([label, , [vector]]) => table.add(label, [], vector),
  examples: ([label, , vectors]) => table.addExamples(label, vectors),
  rename: ([label, other]) => table.rename(label, other),
  remove: ([label]) => table.remove(label),
  undo: () => table.undo(),
};
const lines = [];
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [kind, ...fields] = line.split("\t");
  const bytes = Buffer.from(fields[2], "base64");
  try {
    if (kind === "merge") table.merge(new Uint8Array(bytes));
    else {
      const width = Number(process.env.WIDTH);
      const numbers = Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(4 * place));
      const vectors = Array.from({ length: numbers.length / width }, (_, row) => numbers.slice(row * width, (row + 1) * width));
      if (kind === "answer") {
        const { label, probability, score } = table.answer(vectors[0]);
        lines.push(`${label ?? ""}\t${probability}\t${score}`);
      } else changes[kind]([fields[0], fields[1], vectors]);
    }
  } catch (error) {
    lines.push(`refused: ${error.message}`);
  }
}
lines.push(Buffer.from(table.exportAdded()).toString("base64"), Buffer.from(table.toBytes()).toString("base64"));
console.log(lines.join("\n"));

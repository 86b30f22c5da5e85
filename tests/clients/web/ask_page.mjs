// Asks the code of the page, without the page.
//
//     node ask_page.mjs FOLDER FILE < ROWS.json
//
// Rows are {text, second}; of each come {row, output, padded, answer}: padded is the output of as many tokens as the signature has.

import { text as read } from "node:stream/consumers";
import * as answers from "../../../keras_bert/clients/answers.js";
import { openStudent } from "./student.mjs";

const student = openStudent(process.argv[2], process.argv[3]);
const whole = openStudent(process.argv[2], process.argv[3]).model;
for (const length of whole.lengths) whole.axes.set(length, null);
const ASK = {
  classification: (text, second) => answers.classify(student, text, second)[0],
  multi_label: (text, second) => answers.classifyEach(student, text, second).filter(({ given }) => given),
  regression: (text, second) => answers.measure(student, text, second),
  token_classification: (text) => answers.findEntities(student, text),
  question_answering: (text, second) => answers.findAnswer(student, text, second),
  embedding: (text) => [...answers.embed(student, text)],
};

const found = JSON.parse(await read(process.stdin)).map(({ text, second }) => {
  const parts = [text, second].filter((each) => each !== undefined).map((each) => student.tokenizer.tokenize(each));
  const row = student.tokenizer.encode(parts, student.settings.max_length);
  const [output, padded] = [student.model, whole].map((model) => [...model.run(row).values]);
  return { row, output, padded, answer: ASK[student.settings.task](text, second) };
});
process.stdout.write(JSON.stringify(found));

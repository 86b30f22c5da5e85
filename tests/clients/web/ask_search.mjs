// Searches with the code of the page, without the page.
//
//     node ask_search.mjs FOLDER FILE < GIVEN.json
//
// Given is {texts, codes, queries, vectors}: whole numbers of all texts, queries, and vectors of further ones. Of each query
// come all texts, best first.

import { text as read } from "node:stream/consumers";
import { embed } from "../../../keras_bert/clients/answers.js";
import { SearchCorpus } from "../../../keras_bert/clients/search.js";
import { openStudent } from "./student.mjs";

const { texts, codes, queries, vectors = [] } = JSON.parse(await read(process.stdin));
const student = openStudent(process.argv[2], process.argv[3]);
const corpus = new SearchCorpus(texts, Int8Array.from(codes));
const all = [...queries.map((query) => embed(student, query, "query")), ...vectors.map((vector) => Float32Array.from(vector))];
process.stdout.write(JSON.stringify(all.map((vector) => corpus.search(vector, texts.length))));

// Asks a folder in transformers.js; nothing is fetched, and nothing of this project is there.
//
//     node ask_transformers.mjs FOLDER PIPELINE DTYPE < QUESTIONS.json
//
// Questions are {inputs: the pipeline's arguments, options}; the answers are what the pipeline gives, vectors as lists.

import { basename, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { env, pipeline } from "@huggingface/transformers";

const [folder, kind, dtype] = process.argv.slice(2);
env.allowRemoteModels = false;
env.localModelPath = dirname(folder);
const { inputs, options } = JSON.parse(await text(process.stdin));
const ask = await pipeline(kind, basename(folder), { dtype });
const answers = await ask(...inputs, options);
process.stdout.write(JSON.stringify(answers.tolist ? answers.tolist() : answers));

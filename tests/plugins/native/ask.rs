//! Asks a pushed folder by the wrapper for Rust: `ask FOLDER`, in the form of `answers.py`; offsets count bytes.

#[path = "bert_edge.rs"]
mod bert_edge;

use std::{env, ffi::CString, fs, io, sync::Arc, thread};

fn text(field: &str) -> Option<Vec<u8>> {
    let byte = |place: usize| u8::from_str_radix(&field[place..place + 2], 16).unwrap();
    if field == "-" { None } else { Some((0..field.len()).step_by(2).map(byte).collect()) }
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(model: &bert_edge::Model, line: &str) -> String {
    let fields: Vec<&str> = line.split('\t').collect();
    let read = |place: usize| text(fields[place]).map(|bytes| String::from_utf8(bytes).unwrap());
    let (first, second) = (read(0).unwrap(), read(1));
    let prompt = CString::new(read(2).unwrap_or_default()).unwrap();
    let mut rows = vec![];
    let answer = model.ask(&first, second.as_deref(), &prompt, |row| {
        let tokens: Vec<String> = row.token_ids.iter().zip(&row.segment_ids).map(|(id, segment)| format!("{id}/{segment}")).collect();
        assert!(row.padding_mask.iter().all(|mask| *mask == 1));
        rows.push(tokens.join(" "));
        let values = fields.get(2 + rows.len()).copied().unwrap_or("");
        values.split_whitespace().map(|value| value.parse().unwrap()).collect()
    });
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if fields.len() == 3 => {
            assert!(error.contains("an output must have"), "{error}");
            return format!("{}\t0\t\t", rows.join("|"));
        }
        Err(error) => panic!("{error}"),
    };
    let vector: Vec<String> = answer.vector.iter().map(|value| value.to_string()).collect();
    let entry = |entry: &bert_edge::Entry| {
        let (label, text) = (hexadecimal(&entry.label), hexadecimal(&entry.text));
        let (given, sure) = (entry.is_given as i32, entry.is_sure as i32);
        format!("{label};{};{given};{sure};{};{};{text}", entry.probability, entry.start, entry.end)
    };
    let entries: Vec<String> = answer.entries.iter().map(entry).collect();
    format!("{}\t{}\t{}\t{}", rows.join("|"), answer.number, vector.join(" "), entries.join("|"))
}

fn main() {
    let folder = env::args().nth(1).unwrap();
    let read = |name: &str| fs::read(format!("{folder}/{name}"));
    let rules = read("characters.txt").or_else(|_| read("subwords.txt")).unwrap();
    let open = |task: &[u8]| bert_edge::Model::new(&read("vocab.txt").unwrap(), &rules, task, &read("metrics.json").unwrap());
    assert!(open(b"{").err().unwrap().contains("must hold JSON"));
    let model = Arc::new(open(&read("task.json").unwrap()).unwrap());
    let tokens = model.tokenize("film").unwrap();
    assert_eq!((tokens[0].start, tokens[tokens.len() - 1].end, tokens[0].begins), (0, 4, 1));
    let lines: Vec<String> = io::stdin().lines().map(Result::unwrap).collect();
    // Two threads ask the same model.
    let ask = |lines: Vec<String>, model: Arc<bert_edge::Model>| {
        thread::spawn(move || lines.iter().map(|line| answer(&model, line)).collect::<Vec<String>>())
    };
    let [first, second] = [0, 1].map(|_| ask(lines.clone(), model.clone())).map(|thread| thread.join().unwrap());
    assert_eq!(first, second);
    first.iter().for_each(|line| println!("{line}"));
}

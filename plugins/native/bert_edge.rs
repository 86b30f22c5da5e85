//! Tokenizers and answers of pushed models, over `bert_edge.h`. Link it with `bert_edge.cpp`, as the README of the plug-in says.

use std::ffi::{c_char, CStr};
use std::os::raw::{c_double, c_float};
use std::ptr;

#[repr(C)]
struct RawModel([u8; 0]);
#[repr(C)]
struct RawQuestion([u8; 0]);
/// A token: its id, where it stands in bytes, and whether it is the first of a word.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Token {
    pub id: i32,
    pub start: u32,
    pub end: u32,
    pub begins: i32,
}

#[repr(C)]
#[rustfmt::skip]
struct RawEntry {
    label: *const u8, label_size: usize,
    text: *const u8, text_size: usize,
    probability: c_double,
    is_given: i32, is_sure: i32,
    start: u32, end: u32,
}

extern "C" {
    fn bert_edge_error() -> *const c_char;
    #[rustfmt::skip]
    fn bert_edge_open(vocabulary: *const u8, size: usize, rules: *const u8, rules_size: usize, task: *const u8,
                      task_size: usize, metrics: *const u8, metrics_size: usize) -> *mut RawModel;
    fn bert_edge_close(model: *mut RawModel);
    fn bert_edge_tokenize(model: *const RawModel, text: *const u8, size: usize, unit: i32, tokens: *mut Token, capacity: usize) -> i64;
    #[rustfmt::skip]
    fn bert_edge_ask(model: *const RawModel, text: *const u8, size: usize, second: *const u8, second_size: usize,
                     prompt: *const c_char, unit: i32) -> *mut RawQuestion;
    fn bert_edge_forget(question: *mut RawQuestion);
    fn bert_edge_row_count(question: *const RawQuestion) -> usize;
    fn bert_edge_row_length(question: *const RawQuestion, row: usize) -> i64;
    fn bert_edge_row(question: *const RawQuestion, row: usize, length: usize, ids: *mut i32, segments: *mut i32, mask: *mut i32) -> i32;
    fn bert_edge_set_output(question: *mut RawQuestion, row: usize, values: *const c_float, count: usize) -> i32;
    fn bert_edge_answer(question: *mut RawQuestion) -> i64;
    fn bert_edge_entry_of(question: *const RawQuestion, place: usize, entry: *mut RawEntry) -> i32;
    fn bert_edge_number(question: *const RawQuestion) -> c_double;
    fn bert_edge_vector(question: *const RawQuestion, width: *mut usize) -> *const c_float;
}

fn error() -> String {
    // SAFETY: the text ends with a zero, and is copied before another call of this thread.
    unsafe { CStr::from_ptr(bert_edge_error()) }.to_string_lossy().into_owned()
}

/// The inputs of a model for one row, with zeros at padding.
pub struct Row {
    pub token_ids: Vec<i32>,
    pub segment_ids: Vec<i32>,
    pub padding_mask: Vec<i32>,
}

/// A part of an answer: a label, an entity, or the answer to a question; its place in bytes.
#[derive(Debug)]
pub struct Entry {
    pub label: String,
    pub text: String,
    pub probability: f64,
    pub is_given: bool,
    pub is_sure: bool,
    pub start: u32,
    pub end: u32,
}

/// What a task answers: entries, a number (regression, re-ranking) or a vector (embedding, retrieval).
#[derive(Debug)]
pub struct Answer {
    pub entries: Vec<Entry>,
    pub number: f64,
    pub vector: Vec<f32>,
}

/// A pushed model without its graph.
pub struct Model(*mut RawModel);
// SAFETY: a model never changes once it is made.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    /// By the contents of `vocab.txt`; `characters.txt` or `subwords.txt`; `task.json`; and `metrics.json` or nothing.
    pub fn new(vocabulary: &[u8], rules: &[u8], task: &[u8], metrics: &[u8]) -> Result<Model, String> {
        let [v, r, t, m] = [vocabulary, rules, task, metrics].map(|part| (part.as_ptr(), part.len()));
        let model = unsafe { bert_edge_open(v.0, v.1, r.0, r.1, t.0, t.1, m.0, m.1) };
        if model.is_null() { Err(error()) } else { Ok(Model(model)) }
    }

    pub fn tokenize(&self, text: &str) -> Result<Vec<Token>, String> {
        let write = |tokens: &mut [Token]| unsafe { bert_edge_tokenize(self.0, text.as_ptr(), text.len(), 0, tokens.as_mut_ptr(), tokens.len()) };
        let count = usize::try_from(write(&mut [])).map_err(|_| error())?;
        let mut tokens = vec![Token::default(); count];
        write(&mut tokens);
        Ok(tokens)
    }

    /// Answers a text, or a pair. `run` gets each row and returns the output of the model for it.
    pub fn ask(&self, text: &str, second: Option<&str>, prompt: &CStr, mut run: impl FnMut(&Row) -> Vec<f32>) -> Result<Answer, String> {
        let (other, size) = second.map_or((ptr::null(), 0), |second| (second.as_ptr(), second.len()));
        let question = Question(unsafe { bert_edge_ask(self.0, text.as_ptr(), text.len(), other, size, prompt.as_ptr(), 0) });
        if question.0.is_null() {
            return Err(error());
        }
        for row in 0..unsafe { bert_edge_row_count(question.0) } {
            let length = unsafe { bert_edge_row_length(question.0, row) } as usize;
            let [mut ids, mut segments, mut mask] = [0; 3].map(|zero| vec![zero; length]);
            unsafe { bert_edge_row(question.0, row, length, ids.as_mut_ptr(), segments.as_mut_ptr(), mask.as_mut_ptr()) };
            let output = run(&Row { token_ids: ids, segment_ids: segments, padding_mask: mask });
            unsafe { bert_edge_set_output(question.0, row, output.as_ptr(), output.len()) };
        }
        let count = usize::try_from(unsafe { bert_edge_answer(question.0) }).map_err(|_| error())?;
        let entries = (0..count).map(|place| question.entry(place)).collect();
        let mut width = 0;
        let values = unsafe { bert_edge_vector(question.0, &mut width) };
        let vector = if width == 0 { vec![] } else { unsafe { std::slice::from_raw_parts(values, width) }.to_vec() };
        Ok(Answer { entries, number: unsafe { bert_edge_number(question.0) }, vector })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { bert_edge_close(self.0) }
    }
}

struct Question(*mut RawQuestion);

impl Question {
    fn entry(&self, place: usize) -> Entry {
        let mut raw = std::mem::MaybeUninit::<RawEntry>::uninit();
        // SAFETY: the place is below the number of entries, so that the entry is written; its texts live as long as the question.
        let raw = unsafe { bert_edge_entry_of(self.0, place, raw.as_mut_ptr()); raw.assume_init() };
        let read = |text: *const u8, size| String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, size) }).into_owned();
        let (label, text) = (read(raw.label, raw.label_size), read(raw.text, raw.text_size));
        Entry { label, text, probability: raw.probability, is_given: raw.is_given != 0, is_sure: raw.is_sure != 0, start: raw.start, end: raw.end }
    }
}

impl Drop for Question {
    fn drop(&mut self) { unsafe { bert_edge_forget(self.0) } }
}

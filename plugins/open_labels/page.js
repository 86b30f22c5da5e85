/**
 * The page of labels as data: the label of a text, and fields that add labels and take them back. The script follows `page.js` and
 * `label_table.js` in one module, whose names it uses.
 */

const table = new LabelTable(Uint8Array.from(atob(about.task.label_table), (character) => character.charCodeAt(0)));
const label = make("input", { id: "label", maxLength: 1000 });
const message = make("p", { id: "labels", className: "hint" });

/** Changes the table, says so, and answers anew; what is wrong is said instead. */
function change(action) {
  try {
    action();
    tell(`${table.labels.length} labels`);
    ask();
  } catch (error) {
    tell(error.message, "failed");
  }
}

function tell(text, className = "hint") {
  Object.assign(message, { textContent: text, className });
}

/** Adds the text to a label, which is new or not; without a text, a new label by its name. */
function add() {
  const [name, text] = [label.value.trim(), $("text").value];
  if (!text.trim()) table.add(name, [], embed(student, name.replaceAll("_", " ")));
  else if (table.labels.includes(name)) table.addExamples(name, [embed(student, text)]);
  else table.add(name, [embed(student, text)]);
}

/** A file with counts and sums of what was added, which `LabelTable.merge` reads. */
function save() {
  const link = make("a", { href: URL.createObjectURL(new Blob([table.exportAdded()])), download: "added_labels.bin" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

const button = (text, action) => {
  const made = make("button", { type: "button" }, text);
  made.addEventListener("click", action);
  return made;
};

TASKS.open_labels = ["Text", "", (text) => {
  const vector = embed(student, text);
  const bars = table.ranking(vector).slice(0, SHOWN).map(({ label: name, probability }) => bar(name, probability));
  return table.answer(vector).label === null ? [make("div", { className: "hint" }, "none of the labels"), ...bars] : bars;
}];

label.addEventListener("keydown", (event) => { if (event.key === "Enter") change(add); });
$("answer").after(
  make("label", {}, "Label to add this text to; without a text, the label is added by its name", label),
  make("div", { className: "choices" }, button("Add", () => change(add)), button("Undo", () => change(() => table.undo())),
    button("Save what was added", save)),
  message,
);
tell(`${table.labels.length} labels`);

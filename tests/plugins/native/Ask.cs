// Asks a pushed folder by the wrapper for C#: `Ask.exe FOLDER`, in the form of `answers.py`; offsets count UTF-16 units.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using BertEdge;

static class Ask {
  static readonly CultureInfo Plain = CultureInfo.InvariantCulture;

  static string ReadText(string field) {
    if (field == "-") return null;
    return Encoding.UTF8.GetString(Enumerable.Range(0, field.Length / 2).Select(place => Convert.ToByte(field.Substring(2 * place, 2), 16)).ToArray());
  }

  static string Hexadecimal(string text) { return string.Concat(Encoding.UTF8.GetBytes(text).Select(value => value.ToString("x2"))); }

  static string Print(Entry entry, string source) {
    if (source != null && entry.Text != source.Substring(entry.Start, entry.End - entry.Start)) throw new Exception("another part of the text: " + entry.Text);
    return string.Join(";", Hexadecimal(entry.Label), entry.Probability.ToString("R", Plain), entry.IsGiven ? "1" : "0", entry.IsSure ? "1" : "0",
                       entry.Start.ToString(), entry.End.ToString(), Hexadecimal(entry.Text));
  }

  static string AnswerLine(Model model, string line) {
    string[] fields = line.Split('\t');
    string text = ReadText(fields[0]), second = ReadText(fields[1]);
    var rows = new List<string>();
    Answer answer;
    try {
      answer = model.Ask(text, second, ReadText(fields[2]), row => {
        if (row.PaddingMask.Any(mask => mask != 1)) throw new Exception("a row has padding");
        rows.Add(string.Join(" ", row.TokenIds.Zip(row.SegmentIds, (id, segment) => id + "/" + segment)));
        if (fields.Length < 3 + rows.Count) return new float[0];
        return fields[2 + rows.Count].Split(' ').Select(value => float.Parse(value, Plain)).ToArray();
      });
    } catch (ArgumentException error) {
      if (fields.Length > 3 || !error.Message.Contains("an output must have")) throw;
      answer = new Answer { Vector = new float[0] };
    }
    // Of a pair only the answer to a question stands in a text, the second one.
    var entries = answer.Entries.Select(entry => Print(entry, entry.Text == "" ? null : second ?? text));
    return string.Join("\t", string.Join("|", rows), answer.Number.ToString("R", Plain), string.Join(" ", answer.Vector.Select(value => value.ToString("R", Plain))),
                       string.Join("|", entries));
  }

  static void Main(string[] arguments) {
    Func<string, byte[]> read = name => File.ReadAllBytes(Path.Combine(arguments[0], name));
    byte[] rules = read(File.Exists(Path.Combine(arguments[0], "characters.txt")) ? "characters.txt" : "subwords.txt");
    try {
      new Model(read("vocab.txt"), rules, Encoding.UTF8.GetBytes("{"), new byte[0]);
      throw new Exception("broken settings were taken");
    } catch (ArgumentException error) {
      if (!error.Message.Contains("must hold JSON")) throw;
    }
    using (var model = new Model(read("vocab.txt"), rules, read("task.json"), read("metrics.json"))) {
      Token[] tokens = model.Tokenize("film");
      if (tokens[0].Start != 0 || tokens[tokens.Length - 1].End != 4 || tokens[0].Begins != 1) throw new Exception("tokens at other places");
      for (string line; (line = Console.ReadLine()) != null;) Console.WriteLine(AnswerLine(model, line));
    }
  }
}

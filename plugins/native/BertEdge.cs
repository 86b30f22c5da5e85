// Tokenizers and answers of pushed models, over bert_edge.h: P/Invoke of the library that bert_edge.cpp makes.

using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace BertEdge {
  /// <summary>A token: its id, where it stands in UTF-16 units, as C# counts, and whether it is the first of a word.</summary>
  [StructLayout(LayoutKind.Sequential)]
  public struct Token {
    public int Id;
    public uint Start, End;
    public int Begins;
  }

  /// <summary>The inputs of a model for one row, without padding.</summary>
  public sealed class Row {
    public int[] TokenIds, SegmentIds, PaddingMask;
  }

  /// <summary>A part of an answer: a label, an entity, or the answer to a question; its place in UTF-16 units.</summary>
  public sealed class Entry {
    public string Label, Text;
    public double Probability;
    public bool IsGiven, IsSure;
    public int Start, End;
  }

  /// <summary>What a task answers: entries, a number (regression, re-ranking) or a vector (embedding, retrieval).</summary>
  public sealed class Answer {
    public List<Entry> Entries = new List<Entry>();
    public double Number;
    public float[] Vector;
  }

  /// <summary>A pushed model without its graph; several threads may ask it.</summary>
  public sealed class Model : IDisposable {
    const int Utf16 = 1;
    readonly Handle model;

    /// <summary>By vocab.txt; characters.txt or subwords.txt; task.json; and metrics.json, or an empty array.</summary>
    public Model(byte[] vocabulary, byte[] rules, byte[] task, byte[] metrics) {
      model = Native.bert_edge_open(vocabulary, Size(vocabulary), rules, Size(rules), task, Size(task), metrics, Size(metrics));
      if (model.IsInvalid) throw new ArgumentException(Native.Error());
    }

    /// <summary>The most tokens of a row.</summary>
    public int MaxLength { get { return (int)Native.bert_edge_max_length(model); } }

    public Token[] Tokenize(string text) {
      byte[] bytes = Encoding.UTF8.GetBytes(text);
      long count = Native.Check(Native.bert_edge_tokenize(model, bytes, Size(bytes), Utf16, null, UIntPtr.Zero));
      var tokens = new Token[count];
      Native.bert_edge_tokenize(model, bytes, Size(bytes), Utf16, tokens, (UIntPtr)tokens.Length);
      return tokens;
    }

    /// <summary>Answers a text, or a pair; `run` gets each row and returns the output of the model for it.</summary>
    public Answer Ask(string text, string second, string prompt, Func<Row, float[]> run) {
      byte[] first = Encoding.UTF8.GetBytes(text), other = second == null ? null : Encoding.UTF8.GetBytes(second + "\0");
      UIntPtr size = other == null ? UIntPtr.Zero : (UIntPtr)(other.Length - 1);
      byte[] name = Encoding.UTF8.GetBytes((prompt ?? "") + "\0");
      IntPtr question = Native.bert_edge_ask(model, first, Size(first), other, size, name, Utf16);
      if (question == IntPtr.Zero) throw new ArgumentException(Native.Error());
      try {
        for (ulong row = 0; row < (ulong)Native.bert_edge_row_count(question); row += 1) {
          var length = (UIntPtr)Native.bert_edge_row_length(question, (UIntPtr)row);
          var inputs = new Row { TokenIds = new int[(int)length], SegmentIds = new int[(int)length], PaddingMask = new int[(int)length] };
          Native.Check(Native.bert_edge_row(question, (UIntPtr)row, length, inputs.TokenIds, inputs.SegmentIds, inputs.PaddingMask));
          float[] output = run(inputs);
          Native.Check(Native.bert_edge_set_output(question, (UIntPtr)row, output, (UIntPtr)output.Length));
        }
        return Read(question, Native.Check(Native.bert_edge_answer(question)));
      } finally {
        Native.bert_edge_forget(question);
      }
    }

    public void Dispose() { model.Dispose(); }

    static UIntPtr Size(byte[] bytes) { return (UIntPtr)bytes.Length; }

    static Answer Read(IntPtr question, long count) {
      UIntPtr width;
      IntPtr values = Native.bert_edge_vector(question, out width);
      var answer = new Answer { Number = Native.bert_edge_number(question), Vector = new float[(int)width] };
      if (answer.Vector.Length > 0) Marshal.Copy(values, answer.Vector, 0, answer.Vector.Length);
      for (long place = 0; place < count; place += 1) {
        RawEntry raw;
        Native.Check(Native.bert_edge_entry_of(question, (UIntPtr)(ulong)place, out raw));
        answer.Entries.Add(new Entry {
          Label = Native.Text(raw.Label, raw.LabelSize), Text = Native.Text(raw.Text, raw.TextSize), Probability = raw.Probability,
          IsGiven = raw.IsGiven != 0, IsSure = raw.IsSure != 0, Start = (int)raw.Start, End = (int)raw.End,
        });
      }
      return answer;
    }
  }

  [StructLayout(LayoutKind.Sequential)]
  struct RawEntry {
    public IntPtr Label; public UIntPtr LabelSize;
    public IntPtr Text; public UIntPtr TextSize;
    public double Probability;
    public int IsGiven, IsSure;
    public uint Start, End;
  }

  /// <summary>A model of the library, which lives until no call uses it.</summary>
  sealed class Handle : SafeHandle {
    public Handle() : base(IntPtr.Zero, true) {}
    public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
    protected override bool ReleaseHandle() { Native.bert_edge_close(handle); return true; }
  }

  static class Native {
    const string Library = "bert_edge";
    [DllImport(Library)] static extern IntPtr bert_edge_error();
    [DllImport(Library)] public static extern Handle bert_edge_open(byte[] vocabulary, UIntPtr size, byte[] rules, UIntPtr rulesSize, byte[] task, UIntPtr taskSize, byte[] metrics, UIntPtr metricsSize);
    [DllImport(Library)] public static extern void bert_edge_close(IntPtr model);
    [DllImport(Library)] public static extern UIntPtr bert_edge_max_length(Handle model);
    [DllImport(Library)] public static extern long bert_edge_tokenize(Handle model, byte[] text, UIntPtr size, int unit, [Out] Token[] tokens, UIntPtr capacity);
    [DllImport(Library)] public static extern IntPtr bert_edge_ask(Handle model, byte[] text, UIntPtr size, byte[] second, UIntPtr secondSize, byte[] prompt, int unit);
    [DllImport(Library)] public static extern void bert_edge_forget(IntPtr question);
    [DllImport(Library)] public static extern UIntPtr bert_edge_row_count(IntPtr question);
    [DllImport(Library)] public static extern long bert_edge_row_length(IntPtr question, UIntPtr row);
    [DllImport(Library)] public static extern int bert_edge_row(IntPtr question, UIntPtr row, UIntPtr length, [Out] int[] ids, [Out] int[] segments, [Out] int[] mask);
    [DllImport(Library)] public static extern int bert_edge_set_output(IntPtr question, UIntPtr row, float[] values, UIntPtr count);
    [DllImport(Library)] public static extern long bert_edge_answer(IntPtr question);
    [DllImport(Library)] public static extern int bert_edge_entry_of(IntPtr question, UIntPtr place, out RawEntry entry);
    [DllImport(Library)] public static extern double bert_edge_number(IntPtr question);
    [DllImport(Library)] public static extern IntPtr bert_edge_vector(IntPtr question, out UIntPtr width);

    /// <summary>What a call returned, unless it failed.</summary>
    public static long Check(long result) {
      if (result < 0) throw new ArgumentException(Error());
      return result;
    }

    public static string Error() { return Marshal.PtrToStringAnsi(bert_edge_error()); }

    public static string Text(IntPtr text, UIntPtr size) {
      var bytes = new byte[(int)size];
      if (bytes.Length > 0) Marshal.Copy(text, bytes, 0, bytes.Length);
      return Encoding.UTF8.GetString(bytes);
    }
  }
}

// Tokenizers and answers of pushed models, over bert_edge.h: dart:ffi of the library that bert_edge.cpp makes.
// Needs Dart 3 and the package `ffi`.

import 'dart:convert';
import 'dart:ffi';
import 'dart:io';
import 'dart:typed_data';

import 'package:ffi/ffi.dart';

/// A token: its id, where it stands in UTF-16 units, as Dart counts, and whether it is the first of a word.
typedef Token = ({int id, int start, int end, bool begins});

/// The inputs of a model for one row, without padding.
typedef Row = ({Int32List tokenIds, Int32List segmentIds, Int32List paddingMask});

/// A part of an answer: a label, an entity, or the answer to a question; its place in UTF-16 units.
typedef Entry = ({String label, String text, double probability, bool isGiven, bool isSure, int start, int end});

/// What a task answers: entries, a number (regression, re-ranking) or a vector (embedding, retrieval).
typedef Answer = ({List<Entry> entries, double number, Float32List vector});

/// A pushed model without its graph. Its memory is freed when nothing refers to it.
class Model implements Finalizable {
  /// By vocab.txt; characters.txt or subwords.txt; task.json; and metrics.json, or an empty list.
  Model(List<int> vocabulary, List<int> rules, List<int> task, List<int> metrics)
      : _model = using((arena) => _open(_copy(arena, vocabulary), vocabulary.length, _copy(arena, rules), rules.length,
            _copy(arena, task), task.length, _copy(arena, metrics), metrics.length)) {
    if (_model == nullptr) throw ArgumentError(_error().toDartString());
    _finalizer.attach(this, _model);
  }

  static final _finalizer = NativeFinalizer(_library.lookup('bert_edge_close'));
  final Pointer<Void> _model;

  /// The most tokens of a row.
  int get maxLength => _maxLength(_model);

  List<Token> tokenize(String text) => using((arena) {
        final bytes = utf8.encode(text), copied = _copy(arena, bytes);
        final count = _check(_tokenize(_model, copied, bytes.length, _utf16, nullptr, 0));
        final tokens = arena<TokenStruct>(count + 1);
        _check(_tokenize(_model, copied, bytes.length, _utf16, tokens, count));
        return [
          for (var i = 0; i < count; i += 1)
            (id: tokens[i].id, start: tokens[i].start, end: tokens[i].end, begins: tokens[i].begins != 0)
        ];
      });

  /// Answers a text, or a pair; [run] gets each row and returns the output of the model for it.
  Future<Answer> ask(String text, Future<List<double>> Function(Row) run, {String? second, String? prompt}) async {
    final question = using((arena) {
      final first = utf8.encode(text), other = utf8.encode(second ?? '');
      return _ask(_model, _copy(arena, first), first.length, second == null ? nullptr : _copy(arena, other),
          other.length, prompt == null ? nullptr : prompt.toNativeUtf8(allocator: arena), _utf16);
    });
    if (question == nullptr) throw ArgumentError(_error().toDartString());
    try {
      for (var row = 0; row < _rowCount(question); row += 1) {
        final output = await run(_readRow(question, row));
        using((arena) {
          final values = arena<Float>(output.length + 1);
          values.asTypedList(output.length).setAll(0, output);
          _check(_setOutput(question, row, values, output.length));
        });
      }
      return _readAnswer(question, _check(_answer(question)));
    } finally {
      _forget(question);
    }
  }
}

Row _readRow(Pointer<Void> question, int row) => using((arena) {
      final length = _check(_rowLength(question, row));
      final inputs = [for (var i = 0; i < 3; i += 1) arena<Int32>(length + 1)];
      _check(_rowOf(question, row, length, inputs[0], inputs[1], inputs[2]));
      final [ids, segments, mask] = [for (final input in inputs) Int32List.fromList(input.asTypedList(length))];
      return (tokenIds: ids, segmentIds: segments, paddingMask: mask);
    });

Answer _readAnswer(Pointer<Void> question, int count) => using((arena) {
      final width = arena<Size>(), entry = arena<EntryStruct>(), entries = <Entry>[];
      for (var place = 0; place < count; place += 1) {
        _check(_entryOf(question, place, entry));
        final raw = entry.ref;
        final label = _decode(raw.label, raw.labelSize), text = _decode(raw.text, raw.textSize);
        entries.add((label: label, text: text, probability: raw.probability, isGiven: raw.isGiven != 0,
            isSure: raw.isSure != 0, start: raw.start, end: raw.end));
      }
      final values = _vector(question, width);
      final vector = width.value == 0 ? Float32List(0) : Float32List.fromList(values.asTypedList(width.value));
      return (entries: entries, number: _number(question), vector: vector);
    });

Pointer<Uint8> _copy(Arena arena, List<int> bytes) {
  final copied = arena<Uint8>(bytes.length + 1);
  copied.asTypedList(bytes.length).setAll(0, bytes);
  return copied;
}

String _decode(Pointer<Uint8> text, int size) => size == 0 ? '' : utf8.decode(text.asTypedList(size));

/// What a call returned, unless it failed.
int _check(int result) => result < 0 ? throw ArgumentError(_error().toDartString()) : result;

final class TokenStruct extends Struct {
  @Int32() external int id;
  @Uint32() external int start; @Uint32() external int end;
  @Int32() external int begins;
}

final class EntryStruct extends Struct {
  external Pointer<Uint8> label; @Size() external int labelSize;
  external Pointer<Uint8> text; @Size() external int textSize;
  @Double() external double probability;
  @Int32() external int isGiven; @Int32() external int isSure;
  @Uint32() external int start; @Uint32() external int end;
}

/// Apps of iOS are linked with the library; on other systems it is a file.
final _file = Platform.isWindows ? 'bert_edge.dll' : 'libbert_edge.${Platform.isMacOS ? 'dylib' : 'so'}';
final _library = Platform.isIOS ? DynamicLibrary.process() : DynamicLibrary.open(_file);

typedef Handle = Pointer<Void>;
typedef Bytes = Pointer<Uint8>;
typedef Ints = Pointer<Int32>;
const _utf16 = 1;
final _error = _library.lookupFunction<Pointer<Utf8> Function(), Pointer<Utf8> Function()>('bert_edge_error');
final _open = _library.lookupFunction<Handle Function(Bytes, Size, Bytes, Size, Bytes, Size, Bytes, Size),
    Handle Function(Bytes, int, Bytes, int, Bytes, int, Bytes, int)>('bert_edge_open');
final _maxLength = _library.lookupFunction<Size Function(Handle), int Function(Handle)>('bert_edge_max_length');
final _tokenize = _library.lookupFunction<Int64 Function(Handle, Bytes, Size, Int32, Pointer<TokenStruct>, Size),
    int Function(Handle, Bytes, int, int, Pointer<TokenStruct>, int)>('bert_edge_tokenize');
final _ask = _library.lookupFunction<Handle Function(Handle, Bytes, Size, Bytes, Size, Pointer<Utf8>, Int32),
    Handle Function(Handle, Bytes, int, Bytes, int, Pointer<Utf8>, int)>('bert_edge_ask');
final _forget = _library.lookupFunction<Void Function(Handle), void Function(Handle)>('bert_edge_forget');
final _rowCount = _library.lookupFunction<Size Function(Handle), int Function(Handle)>('bert_edge_row_count');
final _rowLength = _library.lookupFunction<Int64 Function(Handle, Size),
    int Function(Handle, int)>('bert_edge_row_length');
final _rowOf = _library.lookupFunction<Int32 Function(Handle, Size, Size, Ints, Ints, Ints),
    int Function(Handle, int, int, Ints, Ints, Ints)>('bert_edge_row');
final _setOutput = _library.lookupFunction<Int32 Function(Handle, Size, Pointer<Float>, Size),
    int Function(Handle, int, Pointer<Float>, int)>('bert_edge_set_output');
final _answer = _library.lookupFunction<Int64 Function(Handle), int Function(Handle)>('bert_edge_answer');
final _entryOf = _library.lookupFunction<Int32 Function(Handle, Size, Pointer<EntryStruct>),
    int Function(Handle, int, Pointer<EntryStruct>)>('bert_edge_entry_of');
final _number = _library.lookupFunction<Double Function(Handle), double Function(Handle)>('bert_edge_number');
final _vector = _library.lookupFunction<Pointer<Float> Function(Handle, Pointer<Size>),
    Pointer<Float> Function(Handle, Pointer<Size>)>('bert_edge_vector');

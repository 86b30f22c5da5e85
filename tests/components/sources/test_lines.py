from components.sources.text import TextSource, read_lines


def test_each_line_once_without_the_space_around_it(tmp_path):
    (tmp_path / "a.txt").write_text("one two\n  three \n\none two\nOne two\n")
    (tmp_path / "b.jsonl").write_text('{"text": "three\\nfour"}\n{"text": "one two"}\n')
    assert list(read_lines(TextSource(str(tmp_path)))) == ["one two", "three", "One two", "four"]


def test_documents_that_cannot_be_decoded_are_left_out(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\n\nbroken \xff\nline\n")
    assert list(read_lines(TextSource(str(tmp_path), undecodable="drop"))) == ["fine"]

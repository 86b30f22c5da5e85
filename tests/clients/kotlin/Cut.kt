import java.io.File

/** Cuts texts and lays out rows: `Cut VOCABULARY CHARACTERS LENGTH`, in the form of `check_program` in `fuzz.py`. */
fun main(arguments: Array<String>) {
    val (vocabulary, characters) = arguments.take(2).map { File(it).readText() }
    val tokenizer = WordPiece(vocabulary.removeSuffix("\n").split("\n"), characters)
    val answers = StringBuilder()
    var before = emptyList<Piece>()
    for (line in generateSequence(::readLine)) {
        val codes = line.split(" ").filter { it.isNotEmpty() }.map { it.toInt() }.toIntArray()
        val text = String(codes, 0, codes.size)
        val pieces = tokenizer.tokenize(text)
        val alone = tokenizer.encode(listOf(pieces), arguments[2].toInt())
        val paired = tokenizer.encode(listOf(pieces, before), arguments[2].toInt())
        val places = pieces.map { "${it.id}:${text.codePointCount(0, it.start)}:${text.codePointCount(0, it.end)}" }
        val plain = tokenizer.plain(text).codePoints().toArray().toList()
        val parts = listOf(places, alone.tokenIds, paired.tokenIds, paired.segmentIds, plain)
        parts.joinTo(answers, "\t", postfix = "\n") { it.joinToString(" ") }
        before = pieces
    }
    print(answers)
}

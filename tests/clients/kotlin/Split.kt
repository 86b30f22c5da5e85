import java.io.File

/** Splits texts into subwords and builds rows: `Split VOCABULARY RULES LENGTH`, in the form of `check_subwords`. */
fun main(arguments: Array<String>) {
    val (vocabulary, rules) = arguments.take(2).map { File(it).readText() }
    val tokenizer = Subwords(vocabulary.removeSuffix("\n").split("\n"), rules)
    val answers = StringBuilder()
    var before = emptyList<Piece>()
    for (line in generateSequence(::readLine)) {
        val codes = line.split(" ").filter { it.isNotEmpty() }.map { it.toInt() }.toIntArray()
        val text = String(codes, 0, codes.size)
        val pieces = tokenizer.tokenize(text)
        val alone = tokenizer.encode(listOf(pieces), arguments[2].toInt())
        val paired = tokenizer.encode(listOf(pieces, before), arguments[2].toInt())
        val tokens = pieces.map {
            val places = listOf(it.start, it.end).map { place -> text.codePointCount(0, place) }
            "${it.id}:${places[0]}:${places[1]}:${if (it.begins) 1 else 0}"
        }
        listOf(tokens, alone.tokenIds, paired.tokenIds, paired.segmentIds)
            .joinTo(answers, "\t", postfix = "\n") { it.joinToString(" ") }
        before = pieces
    }
    print(answers)
}

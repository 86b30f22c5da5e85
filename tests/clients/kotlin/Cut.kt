import java.io.File

/** Cuts texts: `Cut VOCABULARY CHARACTERS`, texts on standard input, a line of code points each; pieces as `id:start:end`. */
fun main(arguments: Array<String>) {
    val (vocabulary, characters) = arguments.map { File(it).readText() }
    val tokenizer = WordPiece(vocabulary.removeSuffix("\n").split("\n"), characters)
    val answers = StringBuilder()
    for (line in generateSequence(::readLine)) {
        val codes = line.split(" ").filter { it.isNotEmpty() }.map { it.toInt() }.toIntArray()
        val text = String(codes, 0, codes.size)
        tokenizer.tokenize(text).joinTo(answers, " ", postfix = "\n") {
            "${it.id}:${text.codePointCount(0, it.start)}:${text.codePointCount(0, it.end)}"
        }
    }
    print(answers)
}

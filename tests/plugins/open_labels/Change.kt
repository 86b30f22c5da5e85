import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Base64

/** Applies the operations of stdin to a table and prints its answers: `Change label_table.bin`. */
fun main(arguments: Array<String>) {
    val table = LabelTable(File(arguments[0]).readBytes())
    val width = System.getenv("WIDTH").toInt()
    val output = System.out.bufferedWriter()
    for (line in generateSequence(System.`in`.bufferedReader()::readLine)) {
        val (kind, label, other, text) = line.split("\t")
        val bytes = Base64.getDecoder().decode(text)
        val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        try {
            if (kind == "merge") {
                table.merge(bytes)
                continue
            }
            val vectors = List(bytes.size / 4 / width) { FloatArray(width) { buffer.float } }
            when (kind) {
                "add" -> table.add(label, vectors)
                "name" -> table.add(label, listOf(), vectors[0])
                "examples" -> table.addExamples(label, vectors)
                "rename" -> table.rename(label, other)
                "remove" -> table.remove(label)
                "undo" -> table.undo()
                else -> table.answer(vectors[0]).let { output.write("${it.label ?: ""}\t${it.probability}\t${it.score}\n") }
            }
        } catch (error: IllegalArgumentException) {
            output.write("refused: ${error.message}\n")
        }
    }
    for (bytes in listOf(table.exportAdded(), table.toBytes())) {
        output.write("${Base64.getEncoder().encodeToString(bytes)}\n")
    }
    output.flush()
}

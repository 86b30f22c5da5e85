import java.io.File
import java.nio.ByteBuffer
import org.json.JSONArray
import org.json.JSONObject

/**
 * Runs the self-test of a pushed folder with planted faults, and prints a line for each: `Faults FOLDER FILE [TASK]`. The
 * model is `golden.json`, of whose rows alone the outputs are known.
 */
fun main(arguments: Array<String>) {
    val (folder, name) = arguments
    val part = arguments.getOrElse(2) { "" }
    fun read(file: String) = File(folder, file).readBytes()
    fun text(file: String) = read(file).decodeToString()
    val tokenizer = WordPiece(text("vocab.txt").removeSuffix("\n").split("\n"), text("characters.txt"))
    val task = JSONObject(text("task.json")).let { it.optJSONObject("tasks")?.getJSONObject(part) ?: it }
    val labels = task.getJSONArray("labels").let { names -> List(names.length()) { names.getString(it) } }
    val golden = JSONArray(text("golden.json"))
    val rows = List(golden.length()) { golden.getJSONObject(it) }.filter { it.optString("task") == part }
    val outputs = rows.associate { row ->
        val texts = listOf("text", "second").filter { row.has(it) }.map { row.getString(it) }
        val numbers = row.getJSONObject("outputs").getJSONArray(name)
        texts to FloatArray(numbers.length()) { numbers.getDouble(it).toFloat() }
    }
    val longest = task.getInt("max_length")
    val bytes = read(name)
    val changed = bytes.copyOf().also { it.fill(0, bytes.size / 2, minOf(bytes.size, bytes.size / 2 + 20000)) }
    val test = SelfTest(text("self_test.json"), name, part)

    fun say(
        file: ByteArray = bytes,
        names: List<String> = labels,
        tokenize: (String) -> List<Int> = { part -> tokenizer.tokenize(part).map { it.id } },
        encode: (List<String>) -> List<Int> = { parts -> tokenizer.encode(parts.map(tokenizer::tokenize), longest).tokenIds },
        run: (List<String>) -> FloatArray = { parts -> outputs.getValue(parts) },
    ) = println(test.findFault(ByteBuffer.wrap(file), names, tokenize, encode, run))

    say()
    say(file = bytes.copyOf(bytes.size - 9))
    say(file = changed)
    say(names = labels.reversed())
    say(tokenize = { part -> tokenizer.tokenize(part.replace(Regex("\\p{Punct}"), "")).map { it.id } })
    say(encode = { parts -> tokenizer.encode(parts.map(tokenizer::tokenize), 7).tokenIds })
    say(run = { parts -> outputs.getValue(parts).map { 0.8f * it }.toFloatArray() })
    say(run = { parts -> outputs.getValue(parts).map { Float.NaN }.toFloatArray() })
    say(run = { FloatArray(0) })
}

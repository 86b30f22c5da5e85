/*
 * The self-test of a pushed folder: says as an app starts whether the file, the labels, the tokenizer and the outputs are
 * right. To copy into an app, with `self_test.json`; it needs org.json, which Android has.
 */

import java.nio.ByteBuffer
import kotlin.math.abs
import org.json.JSONArray
import org.json.JSONObject

/**
 * @param test the content of `self_test.json`.
 * @param name of the model file in the folder, such as "model.tflite".
 * @param task of a model of several tasks: the name of the one that an app runs.
 */
class SelfTest(test: String, private val name: String, task: String = "") {
    private val content = JSONObject(test).let { it.optJSONObject("tasks")?.getJSONObject(task) ?: it }
    private val file = content.getJSONObject("files").getJSONObject(name)

    /**
     * Which part of an app is wrong, as a sentence; null if none is.
     *
     * @param model the model file, such as one that is mapped into memory.
     * @param labels those that the app shows, in the order of the outputs; empty where there are none.
     * @param tokenize gives the ids of a text's pieces, without special tokens.
     * @param encode gives the ids of the model's input for a text or a pair.
     * @param run gives the numbers of the model's output for a text or a pair.
     */
    fun findFault(
        model: ByteBuffer,
        labels: List<String>,
        tokenize: (String) -> List<Int>,
        encode: (List<String>) -> List<Int>,
        run: (List<String>) -> FloatArray,
    ): String? {
        val size = model.limit()
        if (size != file.getInt("bytes")) {
            return "$name must have ${file.getInt("bytes")} bytes, got $size: it is truncated, or of another version"
        }
        if (hashBlocks(model) != file.getLong("hash")) {
            return "$name must be the file of its self-test: it is damaged, or of another version"
        }
        if (hash(labels.joinToString("\n").encodeToByteArray()) != content.getLong("labels")) {
            return "the labels must be those of the training, in their order"
        }
        val rows = content.getJSONArray("rows").let { rows -> List(rows.length()) { rows.getJSONObject(it) } }
        for (row in rows) {
            val texts = textsOf(row)
            val isCut = tokenize(texts[0]) == integers(row.getJSONArray("pieces"))
            if (!isCut || row.has("token_ids") && encode(texts) != integers(row.getJSONArray("token_ids"))) {
                return "the tokenizer gives other tokens for \"${texts[0]}\""
            }
        }
        val differences = ArrayList<Double>()
        for (row in rows) {
            val expected = row.optJSONObject("outputs")?.optJSONArray(name) ?: continue
            differences.add(largestDifference(expected, row.getJSONArray("places"), run(textsOf(row))))
            // A last bit may change one row, a wrong computation changes all; NaN is never within a tolerance.
            if (differences.last() <= file.getDouble("tolerance")) return null
        }
        if (differences.isEmpty()) return null
        return "the outputs of $name differ from those of its self-test by at least ${differences.min()}, more than " +
            "${file.getDouble("tolerance")}: this processor or its runtime computes otherwise"
    }

    private fun textsOf(row: JSONObject) = listOf("text", "second").filter { row.has(it) }.map { row.getString(it) }

    private fun largestDifference(expected: JSONArray, places: JSONArray, output: FloatArray): Double =
        (0 until expected.length()).maxOf { abs(expected.getDouble(it) - output.getOrElse(places.getInt(it)) { Float.NaN }) }

    private fun integers(numbers: JSONArray): List<Int> = List(numbers.length()) { numbers.getInt(it) }

    private companion object {
        // Of a file, those that its hash is made of.
        const val BLOCKS = 64
        const val BLOCK = 64

        /** FNV-1a of 32 bits. */
        fun hash(bytes: ByteArray, start: Long = 0x811C9DC5): Long =
            bytes.fold(start) { hash, byte -> ((hash xor (byte.toLong() and 0xFF)) * 0x01000193) and 0xFFFFFFFF }

        /** The hash of some blocks of a file, the first and the last among them. */
        fun hashBlocks(file: ByteBuffer): Long {
            val bytes = file.duplicate()
            val room = maxOf(0, bytes.limit() - BLOCK).toLong()
            return (0 until BLOCKS).fold(hash(ByteArray(0))) { value, block ->
                bytes.position((block * room / (BLOCKS - 1)).toInt())
                hash(ByteArray(minOf(BLOCK, bytes.remaining())).also(bytes::get), value)
            }
        }
    }
}

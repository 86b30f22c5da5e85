package example

import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.abs
import kotlin.math.exp
import org.json.JSONArray
import org.json.JSONObject
import org.tensorflow.lite.Interpreter

/** A label with its probability. */
data class Answer(val label: String, val probability: Double)

/**
 * A classifier of a pushed folder: from a text, or a pair of texts, to the probabilities of the labels.
 *
 * @param read gives the bytes of a file of the folder, by its name.
 */
class Classifier(private val read: (String) -> ByteArray) : AutoCloseable {
    private val task = JSONObject(text("task.json"))
    private val labels = task.getJSONArray("labels").let { names -> List(names.length()) { names.getString(it) } }
    private val longest = task.getInt("max_length")
    // The lengths of the signatures, the shortest first.
    private val lengths = JSONObject(text("export.json")).getJSONObject(FILE).getJSONArray("lengths")
        .let { numbers -> List(numbers.length()) { numbers.getInt(it) } }
    // A model with byte-level BPE or unigram has Subwords.kt: Subwords(pieces, text("subwords.txt")).
    private val tokenizer = WordPiece(text("vocab.txt").removeSuffix("\n").split("\n"), text("characters.txt"))
    private val interpreter = read(FILE).let { bytes ->
        Interpreter(ByteBuffer.allocateDirect(bytes.size).order(ByteOrder.nativeOrder()).put(bytes))
    }

    /** The labels of a text, or of a pair, the most probable first. */
    fun classify(vararg texts: String): List<Answer> {
        val logits = run(encode(*texts))
        val largest = logits.max()
        val powers = logits.map { exp((it - largest).toDouble()) }
        return labels.mapIndexed { place, label -> Answer(label, powers[place] / powers.sum()) }
            .sortedByDescending { it.probability }
    }

    /** Compares ids and logits with the rows of `golden.json`; returns the largest difference of a logit. */
    fun checkGolden(): Float {
        val rows = JSONArray(text("golden.json"))
        return List(rows.length()) { rows.getJSONObject(it) }.maxOf { row ->
            val texts = listOf("text", "second").filter { row.has(it) }.map { row.getString(it) }
            val encoded = encode(*texts.toTypedArray())
            val ids = row.getJSONArray("token_ids")
            check(encoded.tokenIds == List(ids.length()) { ids.getInt(it) }) { "other token ids for $texts" }
            val expected = row.getJSONObject("outputs").getJSONArray(FILE)
            run(encoded).withIndex().maxOf { (place, logit) -> abs(logit - expected.getDouble(place).toFloat()) }
        }
    }

    override fun close() = interpreter.close()

    private fun encode(vararg texts: String): Row = tokenizer.encode(texts.map { tokenizer.tokenize(it) }, longest)

    /** Runs a row in the shortest signature that holds it. */
    private fun run(row: Row): FloatArray {
        val length = lengths.first { row.tokenIds.size <= it }
        val inputs = mapOf(
            "token_ids" to row.tokenIds, "segment_ids" to row.segmentIds, "padding_mask" to row.tokenIds.map { 1 }
        )
        val outputs = mapOf<String, Any>("logits" to arrayOf(FloatArray(labels.size)))
        val signature = "serve_$length"
        // A model that does not tell texts of a pair apart has no segment_ids.
        val padded = interpreter.getSignatureInputs(signature).associateWith { name ->
            arrayOf(inputs.getValue(name).toIntArray().copyOf(length)) as Any
        }
        interpreter.runSignature(padded, outputs, signature)
        return (outputs.getValue("logits") as Array<*>)[0] as FloatArray
    }

    private fun text(name: String) = read(name).decodeToString()

    private companion object {
        // Without a quantization it is model_float32.tflite.
        const val FILE = "model.tflite"
    }
}

package example

import com.google.ai.edge.litert.Accelerator
import com.google.ai.edge.litert.CompiledModel
import com.google.ai.edge.litert.LiteRtException
import com.google.ai.edge.litert.TensorBuffer
import kotlin.math.abs
import kotlin.math.exp
import org.json.JSONArray
import org.json.JSONObject

/** A label with its calibrated probability, and whether that reaches the threshold of the model. */
data class Answer(val label: String, val probability: Double, val isSure: Boolean)

/**
 * A classifier of a pushed folder: from a text, or a pair of texts, to the probabilities of the labels.
 *
 * @param read gives the bytes of a file of the folder, by its name.
 * @param model the file `FILE` of the folder.
 * @property accelerator runs the model.
 */
class Classifier private constructor(
    private val read: (String) -> ByteArray,
    private val model: CompiledModel,
    val accelerator: Accelerator,
) : AutoCloseable {
    /** The inputs of a signature by name, and its output. */
    private class Buffers(val inputs: Map<String, TensorBuffer>, val logits: TensorBuffer)

    private val task = JSONObject(text("task.json"))
    private val labels = task.getJSONArray("labels").let { names -> List(names.length()) { names.getString(it) } }
    private val longest = task.getInt("max_length")
    // The lengths of the signatures, the shortest first.
    private val lengths = JSONObject(text("export.json")).getJSONObject(FILE).getJSONArray("lengths")
        .let { numbers -> List(numbers.length()) { numbers.getInt(it) } }
    // Chosen on validation rows. Without a calibration logits stay as they are, and the model is sure of each answer.
    private val calibration = JSONObject(text("metrics.json")).optJSONObject("calibration") ?: JSONObject()
    private val temperature = calibration.optDouble("temperature", 1.0)
    private val threshold = calibration.optDouble("threshold", 0.0)
    // A model with byte-level BPE or unigram has Subwords.kt: Subwords(pieces, text("subwords.txt")).
    private val tokenizer = WordPiece(text("vocab.txt").removeSuffix("\n").split("\n"), text("characters.txt"))
    private val buffers = HashMap<String, Buffers>()

    /** The labels of a text, or of a pair, the most probable first, with the probabilities of `predict`. */
    fun classify(vararg texts: String): List<Answer> {
        val logits = run(encode(*texts))
        val largest = logits.max()
        val powers = logits.map { exp((it - largest) / temperature) }
        val probabilities = powers.map { it / powers.sum() }
        return labels.zip(probabilities) { label, probability -> Answer(label, probability, probability >= threshold) }
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

    override fun close() {
        buffers.values.flatMap { it.inputs.values + it.logits }.forEach(TensorBuffer::close)
        model.close()
    }

    private fun encode(vararg texts: String): Row = tokenizer.encode(texts.map { tokenizer.tokenize(it) }, longest)

    /** Runs a row in the shortest signature that holds it. */
    private fun run(row: Row): FloatArray {
        val length = lengths.first { row.tokenIds.size <= it }
        val values = mapOf(
            "token_ids" to row.tokenIds, "segment_ids" to row.segmentIds, "padding_mask" to row.tokenIds.map { 1 }
        )
        val signature = "serve_$length"
        val (inputs, logits) = buffers.getOrPut(signature) { makeBuffers(signature) }.let { it.inputs to it.logits }
        inputs.forEach { (name, buffer) -> buffer.writeInt(values.getValue(name).toIntArray().copyOf(length)) }
        model.run(inputs, mapOf("logits" to logits), signature)
        return logits.readFloat()
    }

    private fun makeBuffers(signature: String): Buffers {
        val inputs = listOf("token_ids", "padding_mask").associateWith { model.createInputBuffer(it, signature) }
        // A model that does not tell texts of a pair apart has none. LiteRT does not say what a signature takes.
        val segments = try {
            mapOf("segment_ids" to model.createInputBuffer("segment_ids", signature))
        } catch (error: LiteRtException) {
            emptyMap()
        }
        return Buffers(inputs + segments, model.createOutputBuffer("logits", signature))
    }

    private fun text(name: String) = read(name).decodeToString()

    companion object {
        // Without a quantization it is model_float32.tflite.
        private const val FILE = "model.tflite"
        // The GPU computes in float16.
        private const val LARGEST_DIFFERENCE = 0.2f

        /**
         * Opens a pushed folder on the GPU; on the processor where the GPU refuses the model, fails, or gives other logits
         * than `golden.json`.
         *
         * @param read see `Classifier`.
         * @param compile opens a model file of the folder, by its name.
         * @param report gets the reason for the processor.
         */
        fun open(
            read: (String) -> ByteArray,
            compile: (String, CompiledModel.Options) -> CompiledModel,
            report: (String) -> Unit,
        ): Classifier {
            try {
                // Without Accelerator.CPU, LiteRT refuses a model that the GPU does not run as a whole.
                val model = compile(FILE, CompiledModel.Options(Accelerator.GPU))
                val onGpu = Classifier(read, model, Accelerator.GPU)
                val difference = try {
                    onGpu.checkGolden()
                } catch (error: LiteRtException) {
                    onGpu.close()
                    throw error
                }
                if (difference <= LARGEST_DIFFERENCE) return onGpu
                onGpu.close()
                report("the logits of the GPU differ from golden.json by $difference")
            } catch (error: LiteRtException) {
                report("the GPU does not run the model: ${error.message}")
            }
            return Classifier(read, compile(FILE, CompiledModel.Options(Accelerator.CPU)), Accelerator.CPU)
        }
    }
}

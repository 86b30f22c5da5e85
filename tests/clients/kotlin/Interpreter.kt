package org.tensorflow.lite

import java.nio.ByteBuffer
import org.json.JSONArray

/** In the place of LiteRT's: its model is `golden.json`, and it knows the outputs of these rows alone. */
class Interpreter(model: ByteBuffer) {
    private val outputs = HashMap<List<List<Int>>, FloatArray>()

    init {
        val rows = JSONArray(Charsets.UTF_8.decode(model.flip() as ByteBuffer).toString())
        for (row in List(rows.length()) { rows.getJSONObject(it) }) {
            val logits = row.getJSONObject("outputs").getJSONArray("model.tflite")
            outputs[INPUTS.map { name -> row.getJSONArray(name).let { ids -> List(ids.length()) { ids.getInt(it) } } }] =
                FloatArray(logits.length()) { logits.getDouble(it).toFloat() }
        }
    }

    fun getSignatureInputs(@Suppress("UNUSED_PARAMETER") signature: String): Array<String> = INPUTS

    fun runSignature(inputs: Map<String, Any>, results: Map<String, Any>, signature: String) {
        val rows = INPUTS.map { name -> ((inputs.getValue(name) as Array<*>).single() as IntArray).toList() }
        check(rows.all { "serve_${it.size}" == signature }) { "$signature got rows of ${rows.map { it.size }}" }
        val length = rows.last().sum()
        check(rows.all { row -> row.drop(length).all { it == 0 } }) { "padding must be 0" }
        val logits = outputs.getValue(rows.map { it.take(length) })
        logits.copyInto((results.getValue("logits") as Array<*>).single() as FloatArray)
    }

    fun close() = Unit

    private companion object {
        val INPUTS = arrayOf("token_ids", "segment_ids", "padding_mask")
    }
}

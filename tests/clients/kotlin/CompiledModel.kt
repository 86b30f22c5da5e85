package com.google.ai.edge.litert

import android.content.res.AssetManager
import java.io.File
import org.json.JSONArray

// In the place of LiteRT's classes, which need Android's libraries: what the example calls of them. The model is a
// `golden.json`, and only the outputs of these rows are known.

enum class Accelerator { CPU, GPU }

class LiteRtException(message: String) : Exception(message)

class TensorBuffer : AutoCloseable {
    var ints = IntArray(0)
    var floats = FloatArray(0)

    fun writeInt(data: IntArray) {
        ints = data.copyOf()
    }

    fun readFloat(): FloatArray = floats.copyOf()

    override fun close() {
        check(open.remove(this)) { "closed twice" }
    }

    companion object {
        /** All buffers and models that are not closed. */
        val open = HashSet<AutoCloseable>()
    }
}

/** @param shift is added to each logit on the GPU. */
class CompiledModel private constructor(golden: String, private val shift: Float) : AutoCloseable {
    class Options(vararg val accelerators: Accelerator)

    private val outputs = HashMap<List<List<Int>>, FloatArray>()

    init {
        val rows = JSONArray(golden)
        for (row in List(rows.length()) { rows.getJSONObject(it) }) {
            val logits = row.getJSONObject("outputs").getJSONArray("model.tflite")
            outputs[INPUTS.map { name -> row.getJSONArray(name).let { ids -> List(ids.length()) { ids.getInt(it) } } }] =
                FloatArray(logits.length()) { logits.getDouble(it).toFloat() }
        }
        TensorBuffer.open.add(this)
    }

    fun createInputBuffer(inputName: String, signature: String): TensorBuffer {
        if (inputName !in INPUTS) throw LiteRtException("$signature has no $inputName")
        return TensorBuffer().also(TensorBuffer.open::add)
    }

    fun createOutputBuffer(outputName: String, signature: String): TensorBuffer {
        if (outputName != "logits") throw LiteRtException("$signature has no $outputName")
        return TensorBuffer().also(TensorBuffer.open::add)
    }

    fun run(inputs: Map<String, TensorBuffer>, outputs: Map<String, TensorBuffer>, signature: String) {
        val rows = INPUTS.map { inputs.getValue(it).ints.toList() }
        check(rows.all { "serve_${it.size}" == signature }) { "$signature got rows of ${rows.map { it.size }}" }
        val length = rows.last().sum()
        check(rows.all { row -> row.drop(length).all { it == 0 } }) { "padding must be 0" }
        val logits = this.outputs.getValue(rows.map { it.take(length) })
        outputs.getValue("logits").floats = FloatArray(logits.size) { logits[it] + shift }
    }

    override fun close() {
        check(TensorBuffer.open.remove(this)) { "closed twice" }
    }

    companion object {
        private val INPUTS = arrayOf("token_ids", "segment_ids", "padding_mask")
        /** What the GPU adds to each logit; null if it refuses the model. */
        var gpuShift: Float? = 0f

        fun create(assetManager: AssetManager, assetName: String, options: Options): CompiledModel =
            error("$assetName of $assetManager with $options: only on a device")

        fun create(filePath: String, options: Options): CompiledModel {
            val onGpu = Accelerator.GPU in options.accelerators
            val shift = if (onGpu) gpuShift ?: throw LiteRtException("Some ops are not accelerated") else 0f
            return CompiledModel(File(filePath).readText(), shift)
        }
    }
}

import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.exp
import kotlin.math.ln
import kotlin.math.ln1p
import kotlin.math.min
import kotlin.math.pow

/**
 * A table of labels beside a model of vectors: labels are added, renamed and removed where the model runs.
 *
 * To copy into an app, with `label_table.bin`, whose content `bytes` is, or what `toBytes` returned. Scores are those of a
 * probabilistic linear discriminant analysis, as the library's `LabelTable` has them. Vectors are those of the model that the
 * table belongs to. Wrong changes throw IllegalArgumentException. An answer of another thread is of the labels before or after
 * a change.
 */
class LabelTable(bytes: ByteArray) {
    /** A label, null for none of the labels; its probability among the labels; and its score. */
    class Answer(val label: String?, val probability: Double, val score: Double)

    private class Label(
        val sums: FloatArray, val weight: Double, val source: Int, val added: Int, val addedSums: FloatArray,
        val squares: DoubleArray, val products: DoubleArray, val constant: Double, val bias: Double,
    )

    /** The identifier of the space: exports of another one cannot be merged. */
    val space: String
    private val width: Int
    private val nameCount: Double
    private val temperature: Double
    private val threshold: Double
    private val addedBias: Double
    private val center: FloatArray
    private val variances: FloatArray
    private val nameOffset: FloatArray
    private val axes: FloatArray
    private val head: ByteArray
    private val history = ArrayList<Map<String, Label>>()

    @Volatile
    private var entries: Map<String, Label>

    init {
        val buffer = open(bytes, "LABELSV1", 64)
        width = buffer.int
        val count = buffer.int
        nameCount = buffer.double
        temperature = buffer.double
        threshold = buffer.double
        addedBias = buffer.double
        space = text(buffer, 16)
        center = floats(buffer, width)
        variances = floats(buffer, width)
        nameOffset = floats(buffer, width)
        require(buffer.remaining() >= 2 * width * width) { WHOLE }
        axes = FloatArray(width * width) { half(buffer.short.toInt()) }
        head = bytes.copyOf(buffer.position())
        val read = LinkedHashMap<String, Label>()
        repeat(count) {
            val name = text(buffer, integer(buffer))
            require(buffer.remaining() >= 16) { WHOLE }
            val source = buffer.int
            val weight = buffer.double
            val added = buffer.int
            read[name] = label(floats(buffer, width), weight, source, added, floats(buffer, width))
        }
        require(!buffer.hasRemaining()) { WHOLE }
        entries = read
    }

    /** The labels in their order. */
    val labels: List<String> get() = entries.keys.toList()

    /** The answer for a vector. */
    fun answer(vector: FloatArray): Answer {
        val given = entries
        require(given.isNotEmpty()) { "the table must hold at least one label" }
        val places = project(vector)
        val scores = given.values.map { label ->
            var score = label.constant
            for (axis in places.indices) {
                score += places[axis] * (places[axis] * label.squares[axis] + label.products[axis])
            }
            score
        }
        val biased = given.values.zip(scores) { label, score -> score - label.bias }
        val best = biased.indices.maxByOrNull { biased[it] }!!
        val total = biased.sumOf { exp((it - biased[best]) / temperature) }
        val name = if (scores[best] >= threshold) given.keys.elementAt(best) else null
        return Answer(name, 1 / total, scores[best])
    }

    /** Adds a label by the vectors of its examples; without any, by the vector of its name. */
    @Synchronized
    fun add(label: String, vectors: List<FloatArray>, nameVector: FloatArray? = null) {
        require(label.isNotBlank()) { "a label must not be empty" }
        require(label !in entries) { "$label must be a new label; addExamples adds to one that exists" }
        require(vectors.isNotEmpty() || nameVector != null) { "a label must have an example or a name" }
        val none = FloatArray(width)
        val start = if (nameVector == null) label(none, 0.0, EXAMPLES, 0, none) else {
            val places = project(nameVector)
            val sums = FloatArray(width) { (nameCount * (places[it] + nameOffset[it])).toFloat() }
            label(sums, nameCount, NAME, 0, none)
        }
        change(entries + (label to grown(start, sum(vectors), vectors.size)))
    }

    /** Adds the vectors of examples to a label. */
    @Synchronized
    fun addExamples(label: String, vectors: List<FloatArray>) {
        require(vectors.isNotEmpty()) { "there must be an example" }
        change(entries + (label to grown(known(label), sum(vectors), vectors.size)))
    }

    /** Gives a label another name. */
    @Synchronized
    fun rename(label: String, other: String) {
        known(label)
        require(other.isNotBlank() && other !in entries) { "$other must be a new label" }
        change(entries.mapKeys { (name, _) -> if (name == label) other else name })
    }

    /** Removes a label. */
    @Synchronized
    fun remove(label: String) {
        known(label)
        change(entries - label)
    }

    /** Takes back the last change since the table was read. */
    @Synchronized
    fun undo() {
        require(history.isNotEmpty()) { "undo must follow a change" }
        entries = history.removeAt(history.size - 1)
    }

    /** The counts and sums of the examples that were added, as bytes; no text can be read from them. */
    fun exportAdded(): ByteArray {
        val added = entries.filterValues { it.added > 0 }
        val size = 32 + added.keys.sumOf { 8 + it.toByteArray().size + 4 * width }
        val buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)
        buffer.put("LABELSX1".toByteArray()).putInt(width).putInt(added.size).put(space.toByteArray())
        for ((name, label) in added) {
            put(buffer, name)
            buffer.putInt(label.added)
            label.addedSums.forEach { buffer.putFloat(it) }
        }
        return buffer.array()
    }

    /** Adds what `exportAdded` of another table of the same space returned: one change. */
    @Synchronized
    fun merge(bytes: ByteArray) {
        val buffer = open(bytes, "LABELSX1", 32)
        val theirWidth = buffer.int
        val count = buffer.int
        val theirs = text(buffer, 16)
        require(theirs == space) { "the space must be $space, as sums of another encoder cannot be added, got $theirs" }
        val merged = LinkedHashMap(entries)
        val none = FloatArray(width)
        repeat(count) {
            val name = text(buffer, integer(buffer))
            val added = integer(buffer)
            val sums = floats(buffer, theirWidth)
            require(added > 0 && theirWidth == width) { WHOLE }
            val start = merged[name] ?: label(none, 0.0, EXAMPLES, 0, none)
            merged[name] = grown(start, DoubleArray(width) { sums[it].toDouble() }, added)
        }
        require(!buffer.hasRemaining()) { WHOLE }
        change(merged)
    }

    /** The table as bytes, which the constructor reads. */
    fun toBytes(): ByteArray {
        val given = entries
        val size = head.size + given.keys.sumOf { 20 + it.toByteArray().size + 8 * width }
        val buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)
        buffer.put(head).putInt(12, given.size)
        for ((name, label) in given) {
            put(buffer, name)
            buffer.putInt(label.source).putDouble(label.weight).putInt(label.added)
            label.sums.forEach { buffer.putFloat(it) }
            label.addedSums.forEach { buffer.putFloat(it) }
        }
        return buffer.array()
    }

    private fun change(changed: Map<String, Label>) {
        history.add(entries)
        entries = changed
    }

    private fun known(label: String) = requireNotNull(entries[label]) { "$label must be one of the labels" }

    private fun grown(label: Label, more: DoubleArray, count: Int): Label {
        fun plus(one: FloatArray) = FloatArray(width) { (one[it] + more[it]).toFloat() }
        // One that is not would be in the score of each text with this label, and no text would get another label.
        require(plus(label.sums).all { it.isFinite() }) { FINITE }
        return label(plus(label.sums), label.weight + count, label.source, label.added + count, plus(label.addedSums))
    }

    /** A label with the factors of its normal density (Ioffe 2006), as a polynomial of coordinates. */
    private fun label(sums: FloatArray, weight: Double, source: Int, added: Int, addedSums: FloatArray): Label {
        require(source in ROWS..NAME) { WHOLE }
        val squares = DoubleArray(width)
        val products = DoubleArray(width)
        var constant = 0.0
        for (axis in 0 until width) {
            val prior = variances[axis].toDouble()
            val shrinkage = prior / (weight * prior + 1)
            val precision = 1 / (1 + shrinkage)
            val mean = shrinkage * sums[axis]
            squares[axis] = 0.5 * (1 / (1 + prior) - precision)
            products[axis] = precision * mean
            constant += 0.5 * (ln(precision) + ln1p(prior) - precision * mean * mean)
        }
        val bias = if (source == ROWS) 0.0 else addedBias * min(1.0, BIAS_EXAMPLES / weight)
        return Label(sums, weight, source, added, addedSums, squares, products, constant, bias)
    }

    private fun sum(vectors: List<FloatArray>): DoubleArray {
        val sums = DoubleArray(width)
        for (vector in vectors) project(vector).forEachIndexed { axis, place -> sums[axis] += place }
        return sums
    }

    private fun project(vector: FloatArray): DoubleArray {
        require(vector.size == width) { "a vector must be $width wide, got ${vector.size}" }
        require(vector.all { it.isFinite() }) { FINITE }
        val places = DoubleArray(width)
        for (row in 0 until width) {
            val difference = vector[row].toDouble() - center[row]
            for (axis in 0 until width) places[axis] += difference * axes[row * width + axis]
        }
        return places
    }

    private companion object {
        const val ROWS = 0
        const val EXAMPLES = 1
        const val NAME = 2
        // Up to so many examples, an added label has the whole bias of the table.
        const val BIAS_EXAMPLES = 8.0
        const val FINITE = "vectors must be finite numbers"
        const val WHOLE = "the bytes must be those of a whole file"

        fun open(bytes: ByteArray, kind: String, least: Int): ByteBuffer {
            require(bytes.size >= least && String(bytes, 0, 8, Charsets.US_ASCII) == kind) { "the bytes must begin with $kind" }
            val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
            buffer.position(8)
            return buffer
        }

        fun integer(buffer: ByteBuffer): Int {
            require(buffer.remaining() >= 4) { WHOLE }
            return buffer.int
        }

        fun text(buffer: ByteBuffer, size: Int): String {
            require(size in 0..buffer.remaining()) { WHOLE }
            return String(ByteArray(size).also { buffer.get(it) }, Charsets.UTF_8)
        }

        fun floats(buffer: ByteBuffer, size: Int): FloatArray {
            require(size >= 0 && buffer.remaining() >= 4 * size) { WHOLE }
            return FloatArray(size) { buffer.float }
        }

        fun put(buffer: ByteBuffer, name: String) {
            val encoded = name.toByteArray()
            buffer.putInt(encoded.size).put(encoded)
        }

        /** A finite float16. */
        fun half(bits: Int): Float {
            val exponent = bits shr 10 and 31
            val fraction = bits and 1023
            val size = if (exponent == 0) fraction * 2.0.pow(-24) else (1 + fraction / 1024.0) * 2.0.pow(exponent - 15)
            return (if (bits and 0x8000 == 0) size else -size).toFloat()
        }
    }
}

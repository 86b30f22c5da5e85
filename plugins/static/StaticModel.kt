import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.max
import kotlin.math.sqrt

/**
 * A static model without an interpreter: the vector of a text is the mean of the rows of its tokens, each times its factor;
 * then a dense layer if there is one, and length 1 if the model is normalized. Special tokens never count.
 *
 * To copy into an app, with `static_model.bin`, whose content `bytes` is. A tokenizer of this project makes the ids.
 */
class StaticModel(bytes: ByteArray) {
    /** The identifier of the space: vectors of another one cannot be compared with those of this model. */
    val space: String
    val width: Int
    private val columns: Int
    private val zero: Int
    private val isNormalized: Boolean
    private val ignored: Set<Int>
    private val factors: FloatArray
    private val projection: FloatArray
    private val table: ByteArray

    init {
        require(bytes.size > 52 && String(bytes, 0, 8, Charsets.US_ASCII) == "STATICV1") { "no static_model.bin" }
        val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        buffer.position(8)
        val sizes = IntArray(7) { buffer.int }
        columns = sizes[1]
        width = sizes[2]
        zero = sizes[3]
        isNormalized = sizes[5] == 1
        space = String(ByteArray(16) { buffer.get() }, Charsets.US_ASCII)
        ignored = List(sizes[6]) { buffer.int }.toSet()
        factors = FloatArray(sizes[0]) { buffer.float }
        projection = FloatArray(if (sizes[4] == 1) columns * width else 0) { buffer.float }
        table = ByteArray(sizes[0] * columns)
        require(buffer.remaining() == table.size) { "static_model.bin is not whole" }
        buffer.get(table)
    }

    /**
     * Throws IllegalArgumentException where an index, or a table of vectors, is of another space than this model.
     * `other` is the identifier beside the vectors; an empty one is unknown and passes.
     */
    fun requireSpace(other: String) {
        require(other.isEmpty() || space.isBlank() || other == space) {
            "vectors must be of the model's space, $space, got vectors of the space $other: " +
                "embed the texts again with this model, or train it into their space"
        }
    }

    /** The vector of a text by the ids of its tokens; IllegalArgumentException for an id of no row. */
    fun embed(ids: IntArray): FloatArray {
        require(ids.all { it in factors.indices }) { "ids must be from 0 to ${factors.size - 1}" }
        val counted = ids.filter { it !in ignored }
        // A text without tokens has a direction, too.
        val mean = FloatArray(columns) { if (counted.isEmpty()) 1f else 0f }
        for (id in counted) {
            for (column in mean.indices) mean[column] += factors[id] * (table[id * columns + column] - zero)
        }
        for (column in mean.indices) mean[column] /= max(1, counted.size).toFloat()
        val vector = if (projection.isEmpty()) mean else FloatArray(width) { place ->
            var sum = 0f
            for (column in mean.indices) sum += mean[column] * projection[column * width + place]
            sum
        }
        if (isNormalized) {
            val length = sqrt(max(vector.fold(0f) { sum, value -> sum + value * value }, 1e-12f))
            for (place in vector.indices) vector[place] /= length
        }
        return vector
    }
}

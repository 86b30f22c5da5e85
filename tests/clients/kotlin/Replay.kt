import com.google.ai.edge.litert.CompiledModel
import com.google.ai.edge.litert.TensorBuffer
import example.Classifier
import java.io.File
import org.json.JSONArray

/** Asks the example about all rows of `golden.json`: `Replay FOLDER SHIFT`, see `CompiledModel.kt`. */
fun main(arguments: Array<String>) {
    val folder = File(arguments[0])
    CompiledModel.gpuShift = arguments[1].toFloatOrNull()
    val classifier = Classifier.open(
        { folder.resolve(it).readBytes() },
        { _, options -> CompiledModel.create(folder.resolve("golden.json").path, options) },
        { println(it) },
    )
    println(classifier.accelerator)
    println(classifier.checkGolden())
    val rows = JSONArray(folder.resolve("golden.json").readText())
    for (row in List(rows.length()) { rows.getJSONObject(it) }) {
        val texts = listOf("text", "second").filter { row.has(it) }.map { row.getString(it) }
        val answer = classifier.classify(*texts.toTypedArray()).first()
        println("${answer.label}\t${answer.probability}\t${answer.isSure}")
    }
    classifier.close()
    check(TensorBuffer.open.isEmpty()) { "buffers or models are not closed" }
}

import example.Classifier
import java.io.File
import org.json.JSONArray

/** Asks the example about all rows of `golden.json`: `Replay FOLDER`; the model is that file, see `Interpreter.kt`. */
fun main(arguments: Array<String>) {
    val folder = File(arguments[0])
    val classifier = Classifier { name -> folder.resolve(if (name == "model.tflite") "golden.json" else name).readBytes() }
    println(classifier.checkGolden())
    val rows = JSONArray(folder.resolve("golden.json").readText())
    for (row in List(rows.length()) { rows.getJSONObject(it) }) {
        val texts = listOf("text", "second").filter { row.has(it) }.map { row.getString(it) }
        val answer = classifier.classify(*texts.toTypedArray()).first()
        println("${answer.label}\t${answer.probability}")
    }
    classifier.close()
}

import java.io.File

/** Prints the vector of each line of ids: `Embed static_model.bin`. */
fun main(arguments: Array<String>) {
    val model = StaticModel(File(arguments[0]).readBytes())
    println(model.space)
    for (space in listOf("", model.space, "0123456789abcdef")) {
        println(runCatching { model.requireSpace(space) }.exceptionOrNull()?.message ?: "ok")
    }
    for (line in generateSequence(::readLine)) {
        println(model.embed(line.trim().split(" ").map { it.toInt() }.toIntArray()).joinToString(" "))
    }
}

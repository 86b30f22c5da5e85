/**
 * BERT's WordPiece tokenizer (Devlin et al. 2019), by tables alone: it cuts text as the model's training did, whatever
 * Unicode the device knows. To copy into an app, with `vocab.txt` and `characters.txt` of a pushed folder.
 */

/** A piece: its id, where it stands, `text.substring(start, end)`, and whether it begins a word. */
data class Piece(val id: Int, val start: Int, val end: Int, val begins: Boolean)

/** The inputs of a model, without padding, and how many pieces of each text there are. */
class Row(val tokenIds: List<Int>, val segmentIds: List<Int>, val lengths: List<Int>)

/**
 * @param pieces of the vocabulary, by id.
 * @param characters what `characters.txt` holds.
 */
class WordPiece(pieces: List<String>, characters: String) {
    private class Character(val code: Int, val start: Int, val end: Int)

    /** The tokens at the start and the end of a row, MPNet's or BERT's, and how many end tokens part two texts. */
    private class Special(val start: String, val end: String, val between: Int)

    private val ids = pieces.withIndex().associate { (id, piece) -> piece to id }
    private val ranges = mapOf(
        "dropped" to ArrayList<IntRange>(), "blank" to ArrayList(), "isolated" to ArrayList(), "syllables" to ArrayList()
    )
    private val replaced = HashMap<Int, IntArray>()
    private val special = if (ids["<s>"] == 0) Special("<s>", "</s>", 2) else Special("[CLS]", "[SEP]", 1)

    init {
        for (line in characters.trim().split("\n")) {
            val words = line.split(" ")
            val codes = words.drop(1).map { it.toInt(16) }
            if (words[0] == "replaced") replaced[codes[0]] = codes.drop(1).toIntArray()
            else ranges.getValue(words[0]).add(codes[0]..codes[1])
        }
    }

    /** The pieces of a text, without special tokens. */
    fun tokenize(text: String): List<Piece> = words(text).flatMap { cut(it) }

    /**
     * A text as the model's training read it, its words parted by spaces. MediaPipe Tasks, which keeps accents and
     * characters without width, makes the ids of the training of it.
     */
    fun plain(text: String): String = words(text).joinToString(" ") { word ->
        word.fold(StringBuilder()) { spelt, character -> spelt.appendCodePoint(character.code) }
    }

    /**
     * The inputs of a model.
     * @param parts the pieces of a text, or of each of two.
     * @param length the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
     */
    fun encode(parts: List<List<Piece>>, length: Int): Row {
        val room = length - 2 - (if (parts.size > 1) special.between else 0)
        val (first, other) = listOf(parts[0].size, if (parts.size > 1) parts[1].size else 0)
        val half = (room + (if (first > other) 1 else 0)) / 2
        val kept = minOf(first, maxOf(room - other, half))
        val lengths = listOf(kept, minOf(other, room - kept)).take(parts.size)
        val tokens = mutableListOf(ids.getValue(special.start))
        val end = ids.getValue(special.end)
        val segments = mutableListOf(0)
        parts.forEachIndexed { segment, part ->
            repeat(if (segment > 0) special.between - 1 else 0) { tokens.add(end); segments.add(0) }
            part.take(lengths[segment]).mapTo(tokens) { it.id }
            tokens.add(end)
            repeat(lengths[segment] + 1) { segments.add(segment) }
        }
        return Row(tokens, segments, lengths)
    }

    private fun words(text: String): List<List<Character>> {
        val words = ArrayList<MutableList<Character>>()
        var word: MutableList<Character>? = null
        var start = 0
        while (start < text.length) {
            val source = text.codePointAt(start)
            val end = start + java.lang.Character.charCount(source)
            for (code in normalize(source)) {
                val alone = within("isolated", code)
                if (alone || code == BLANK) word = null
                if (code == BLANK) continue
                if (word == null) word = ArrayList<Character>().also { words.add(it) }
                word.add(Character(code, start, end))
                if (alone) word = null
            }
            start = end
        }
        return words
    }

    private fun normalize(code: Int): IntArray = when {
        within("dropped", code) -> intArrayOf()
        within("blank", code) -> intArrayOf(BLANK)
        within("syllables", code) -> letters(code - FIRST_SYLLABLE)
        else -> replaced[code] ?: intArrayOf(code)
    }

    private fun letters(syllable: Int): IntArray {
        val first = LEADS + syllable / (VOWEL_COUNT * TAIL_COUNT)
        val second = VOWELS + syllable / TAIL_COUNT % VOWEL_COUNT
        val tail = syllable % TAIL_COUNT
        return if (tail == 0) intArrayOf(first, second) else intArrayOf(first, second, TAILS + tail)
    }

    /** The longest piece that is known first; the word is unknown as a whole where a rest is not known. */
    private fun cut(word: List<Character>): List<Piece> {
        val unknown = listOf(Piece(ids.getValue("[UNK]"), word.first().start, word.last().end, true))
        if (word.size > LONGEST_WORD) return unknown
        val pieces = ArrayList<Piece>()
        var first = 0
        while (first < word.size) {
            val last = (word.size downTo first + 1).firstOrNull { find(word, first, it) != null } ?: return unknown
            pieces.add(Piece(find(word, first, last)!!, word[first].start, word[last - 1].end, first == 0))
            first = last
        }
        return pieces
    }

    private fun find(word: List<Character>, first: Int, last: Int): Int? {
        val piece = StringBuilder(if (first == 0) "" else "##")
        for (place in first until last) piece.appendCodePoint(word[place].code)
        return ids[piece.toString()]
    }

    private fun within(kind: String, code: Int): Boolean =
        ranges.getValue(kind).let { intervals ->
            val place = intervals.binarySearch { if (it.last < code) -1 else if (it.first > code) 1 else 0 }
            place >= 0
        }

    private companion object {
        const val BLANK = 0x20

        /** Characters; a longer word is unknown, as in google-research/bert. */
        const val LONGEST_WORD = 100

        // How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
        const val FIRST_SYLLABLE = 0xAC00
        const val LEADS = 0x1100
        const val VOWELS = 0x1161
        const val TAILS = 0x11A7
        const val VOWEL_COUNT = 21
        const val TAIL_COUNT = 28
    }
}

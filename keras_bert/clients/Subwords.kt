/**
 * BPE of bytes or characters (Radford et al. 2019), unigram (Kudo 2018), and WordPiece with added tokens, by rules alone:
 * it splits text as the model's training did, whatever Unicode the device knows. To copy into an app, with `vocab.txt` and
 * `subwords.txt` of a pushed folder.
 */

/** A token: its id, its place, `text.substring(start, end)`, and whether it begins a word. */
data class Piece(val id: Int, val start: Int, val end: Int, val begins: Boolean)

/** The inputs of a model, without padding, and the number of tokens of each text. */
class Row(val tokenIds: List<Int>, val segmentIds: List<Int>, val lengths: List<Int>)

/**
 * @param pieces of the vocabulary, by id.
 * @param rules the content of `subwords.txt`.
 */
class Subwords(private val pieces: List<String>, rules: String) {
    /** A code point, and the part of the text that it comes from. */
    private data class Character(val code: Int, val start: Int, val end: Int)

    /** A code point; 1 for an inserted one, 0 for one that replaces another, -N for one before N that go. */
    private data class Change(val code: Int, val kind: Int)

    private data class Token(val id: Int, val start: Int, val end: Int)
    private class Merge(val rank: Int, val id: Int)
    private class AddedToken(val id: Int, val special: Boolean, val flags: String, val codes: List<Int>)
    private class Part(val id: Int?, val characters: List<Character>)
    private class Best(val score: Double, val first: Int, val id: Int)
    private class Step(val words: List<String>) {
        val maps = HashMap<List<Int>, List<Int>>()
        val orders = HashMap<Int, Int>()
        val pairs = HashMap<Pair<Int, Int>, Int>()
    }

    private var kind = ""
    private var row = listOf<Int>()
    private var mark = 0
    private var special = setOf<Int>()
    private val trims = ArrayList<Boolean>()
    private val added = mapOf("raw" to ArrayList<AddedToken>(), "normalized" to ArrayList())
    private val steps = ArrayList<Step>()
    private val splits = ArrayList<List<String>>()
    private val classes = HashMap<String, ArrayList<IntRange>>()
    private var bytes = listOf<Int>()
    private val letters = HashMap<Int, Int>()
    private var words = mapOf<String, Int>()
    private var longestWord = 0
    private val merges = HashMap<Pair<Int, Int>, Merge>()
    private val scores = ArrayList<Double>()

    init {
        for (line in rules.trim().split("\n")) line.split(" ").let { read(it[0], it.drop(1)) }
    }

    // What unigram looks up, and how long the longest of it is.
    private val ids = scores.indices.associateBy { pieces[it] }
    private val longest = scores.indices.maxOfOrNull { pieces[it].codePointCount(0, pieces[it].length) } ?: 0
    private val unknownScore = (scores.minOrNull() ?: 0.0) - UNKNOWN_PENALTY

    private fun read(name: String, words: List<String>) {
        when (name) {
            "kind" -> kind = words[0]
            "row" -> row = words.map { it.toInt() }
            "mark" -> mark = words[0].toInt(16)
            "special" -> special = words.map { it.toInt() }.toSet()
            "trim" -> trims.add(words[0] == "1")
            "added" -> AddedToken(words[2].toInt(), words[1] == "1", words[3], codes(words.drop(4))).let {
                added.getValue(words[0]).add(it)
            }
            "step" -> steps.add(Step(words))
            "map" -> steps.last().maps[codes(words[0].split("."))] = codes(words.drop(1))
            "order" -> steps.last().orders[words[0].toInt(16)] = words[1].toInt()
            "pair" -> codes(words).let { steps.last().pairs[it[0] to it[1]] = it[2] }
            "split" -> splits.add(words)
            "class" -> codes(words.drop(1)).let { classes.getOrPut(words[0]) { ArrayList() }.add(it[0]..it[1]) }
            "words" -> {
                this.words = (0 until words[0].toInt()).associateBy { pieces[it] }
                longestWord = words[1].toInt()
            }
            "bytes" -> bytes = words.map { it.toInt() }
            "letter" -> letters[words[0].toInt(16)] = words[1].toInt()
            "merge" -> words.map { it.toInt() }.let { merges[it[0] to it[1]] = Merge(merges.size, it[2]) }
            "score" -> scores.add(words[0].toDouble())
            else -> throw IllegalArgumentException("subwords.txt must hold lines of rules, got $name")
        }
    }

    /** The tokens of a text, without special tokens. */
    fun tokenize(text: String): List<Piece> {
        val tokens = ArrayList<Token>()
        for (part in separate(characters(text), "raw")) {
            val inner = if (part.id == null) separate(normalize(part.characters), "normalized") else listOf(part)
            for (piece in inner) {
                val id = piece.id
                if (id != null) tokens.add(Token(id, piece.characters.first().start, piece.characters.last().end))
                else for (word in split(piece.characters)) tokens.addAll(cutWord(word))
            }
        }
        return tokens.mapIndexed { place, token -> finish(text, token, place) }
    }

    /**
     * The inputs of a model.
     * @param parts the tokens of a text, or of each of two.
     * @param length the most tokens; of two long parts each gets half, and the longer one (on a tie, the second) an odd token.
     */
    fun encode(parts: List<List<Piece>>, length: Int): Row {
        val (cls, sep, _, between, second) = row
        val room = length - 2 - (if (parts.size > 1) between else 0)
        val (first, other) = listOf(parts[0].size, if (parts.size > 1) parts[1].size else 0)
        val half = (room + (if (first > other) 1 else 0)) / 2
        val kept = minOf(first, maxOf(room - other, half))
        val lengths = listOf(kept, minOf(other, room - kept)).take(parts.size)
        val tokens = mutableListOf(cls)
        val segments = mutableListOf(0)
        parts.forEachIndexed { segment, part ->
            repeat(if (segment > 0) between - 1 else 0) { tokens.add(sep); segments.add(0) }
            part.take(lengths[segment]).mapTo(tokens) { it.id }
            tokens.add(sep)
            repeat(lengths[segment] + 1) { segments.add(segment * second) }
        }
        return Row(tokens, segments, lengths)
    }

    private fun cutWord(word: List<Character>): List<Token> = when (kind) {
        "unigram" -> search(word)
        "wordpiece" -> spell(word)
        else -> merge(word)
    }

    /** A token whose place has no white space in front, and none of what byte-level BPE trims. */
    private fun finish(text: String, token: Token, place: Int): Piece {
        val piece = pieces[token.id].codePoints().toArray()
        var (_, start, end) = token
        for (prefix in trims) {
            val blanks = piece.map { it == mark || within("blank", it) }
            val leading = blanks.takeWhile { it }.size
            val trailing = blanks.takeLastWhile { it }.size
            val kept = if (leading > 0 && prefix && (place == 0 || start == 0)) 1 else 0
            start = minOf(move(text, start, leading - kept), end)
            end = maxOf(move(text, end, -trailing), start)
        }
        while (start < end && within("blank", text[start].code)) start += 1
        val begins = if (kind == "wordpiece") !pieces[token.id].startsWith(CONTINUATION) else piece.firstOrNull() == mark
        return Piece(token.id, start, end, place == 0 || begins || token.id in special)
    }

    /** The place a number of characters further on or back; as it was where there are not as many. */
    private fun move(text: String, place: Int, count: Int): Int =
        if (count < 0 && text.codePointCount(0, place) < -count) place
        else text.offsetByCodePoints(place, minOf(count, text.codePointCount(place, text.length)))

    /** The parts of a text between added tokens, and these; the longest of several counts, special ones are text. */
    private fun separate(text: List<Character>, place: String): List<Part> {
        val parts = ArrayList<Part>()
        fun isOf(name: String, index: Int) = text.getOrNull(index)?.let { within(name, it.code) } ?: false
        var first = 0
        var start = 0
        while (start < text.size) {
            val longest = added.getValue(place).filter { startsWith(text, start, it.codes) }.maxByOrNull { it.codes.size }
            val end = start + (longest?.codes?.size ?: 1)
            val isInWord = longest?.flags?.get(0) == '1' && (isOf("word", start - 1) || isOf("word", end))
            if (longest != null && !longest.special && !isInWord) {
                var from = start
                var to = end
                while (longest.flags[1] == '1' && from > first && isOf("white", from - 1)) from -= 1
                while (longest.flags[2] == '1' && isOf("white", to)) to += 1
                if (first < from) parts.add(Part(null, text.subList(first, from)))
                parts.add(Part(longest.id, text.subList(from, to)))
                first = to
            }
            start = end
        }
        if (first < text.size) parts.add(Part(null, text.subList(first, text.size)))
        return parts
    }

    private fun normalize(text: List<Character>): List<Character> = steps.fold(text) { done, step ->
        when (step.words[0]) {
            "characters" -> done.flatMap { one -> step.maps[listOf(one.code)]?.map { one.copy(code = it) } ?: listOf(one) }
            "spaced" -> done.flatMap { one ->
                val codes = if (within(step.words[1], one.code)) listOf(SPACE, one.code, SPACE) else listOf(one.code)
                codes.map { one.copy(code = it) }
            }
            "strip" -> strip(done, step.words[1] == "1", step.words[2] == "1")
            "replace" -> replace(done, codes(step.words[1].split(".")), codes(step.words.drop(2)))
            "collapse" -> collapse(done, step.words[1], step.words[2], codes(step.words.drop(3)))
            "decomposed" -> change(done, decompose(done, step))
            "composed" -> change(done, compose(decompose(done, step), step))
            "graphemes" -> replaceGraphemes(done, step)
            else -> throw IllegalArgumentException("subwords.txt must hold steps of normalizers, got ${step.words[0]}")
        }
    }

    private fun strip(text: List<Character>, left: Boolean, right: Boolean): List<Character> {
        val inner = if (left) text.dropWhile { within("white", it.code) } else text
        return if (right) inner.dropLastWhile { within("white", it.code) } else inner
    }

    /** Replaces a sequence of characters, each with the place of its last one. */
    private fun replace(text: List<Character>, key: List<Int>, codes: List<Int>): List<Character> {
        val replaced = ArrayList<Character>()
        var place = 0
        while (place < text.size) {
            if (startsWith(text, place, key)) {
                place += key.size
                codes.mapTo(replaced) { text[place - 1].copy(code = it) }
            } else replaced.add(text[place++])
        }
        return replaced
    }

    /** Replaces runs of two and more characters of a class, and characters of another that stand alone. */
    private fun collapse(text: List<Character>, run: String, alone: String, codes: List<Int>): List<Character> {
        val inRun = text.map { within(run, it.code) }
        return text.indices.flatMap { place ->
            val isNext = inRun.getOrElse(place + 1) { false }
            val isRun = inRun[place] && (isNext || inRun.getOrElse(place - 1) { false })
            if (!isRun && !within(alone, text[place].code)) listOf(text[place])
            else if (isRun && isNext) emptyList()
            else codes.map { text[place].copy(code = it) }
        }
    }

    /** A changed text; an inserted character has the place of the one before (`NormalizedString` of `tokenizers`). */
    private fun change(text: List<Character>, changes: List<Change>): List<Character> {
        var place = 0
        return changes.map { (code, kind) ->
            val source = text.getOrNull(if (kind > 0) place - 1 else minOf(place, text.size - 1))
            if (kind <= 0) place += 1 - kind
            (source ?: Character(0, 0, 0)).copy(code = code)
        }
    }

    /** Decomposed characters, marks in canonical order, as changes. */
    private fun decompose(text: List<Character>, step: Step): List<Change> {
        val changes = ArrayList<Change>()
        val marks = ArrayList<Change>()
        fun close() {
            changes.addAll(marks.sortedBy { step.orders.getValue(it.code) })
            marks.clear()
        }
        for (character in text) {
            (step.maps[listOf(character.code)] ?: letters(character.code)).forEachIndexed { place, part ->
                if (part !in step.orders) close()
                (if (part in step.orders) marks else changes).add(Change(part, minOf(place, 1)))
            }
        }
        close()
        return changes
    }

    /** Composes decomposed changes; a mark that is kept blocks others of its class and lower ones. */
    private fun compose(changes: List<Change>, step: Step): List<Change> {
        val composed = ArrayList<Change>()
        var starter = -1
        var blocked = -1
        for (change in changes) {
            val order = step.orders[change.code] ?: 0
            val isBlocked = starter < 0 || blocked >= 0 && blocked >= order
            val code = if (isBlocked) null else join(composed[starter].code, change.code, step)
            if (code != null) {
                composed[starter] = Change(code, composed[starter].kind + change.kind - 1)
                continue
            }
            composed.add(change)
            if (order == 0) {
                starter = composed.size - 1
                blocked = -1
            } else if (starter >= 0) blocked = order
        }
        return composed
    }

    private fun join(first: Int, second: Int, step: Step): Int? {
        val (lead, vowel) = first - LEADS to second - VOWELS
        if (lead in 0 until LEAD_COUNT && vowel in 0 until VOWEL_COUNT) {
            return FIRST_SYLLABLE + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT
        }
        val tail = second - TAILS
        return if (isOpen(first) && tail in 1 until TAIL_COUNT) first + tail else step.pairs[first to second]
    }

    /** The letters of a syllable of Hangul; another character itself. */
    private fun letters(code: Int): List<Int> {
        if (!isSyllable(code)) return listOf(code)
        val syllable = code - FIRST_SYLLABLE
        val tail = syllable % TAIL_COUNT
        val pair = listOf(LEADS + syllable / (VOWEL_COUNT * TAIL_COUNT), VOWELS + syllable / TAIL_COUNT % VOWEL_COUNT)
        return if (tail == 0) pair else pair + (TAILS + tail)
    }

    private fun isSyllable(code: Int) = code in FIRST_SYLLABLE until FIRST_SYLLABLE + SYLLABLE_COUNT

    private fun isOpen(code: Int) = isSyllable(code) && (code - FIRST_SYLLABLE) % TAIL_COUNT == 0

    /** SentencePiece's replacements, as `tokenizers` makes them: of graphemes, or of their characters. */
    private fun replaceGraphemes(text: List<Character>, step: Step): List<Character> {
        val changes = ArrayList<Change>()
        var modified = false
        fun put(count: Int, codes: List<Int>) {
            modified = true
            codes.mapIndexedTo(changes) { place, code -> Change(code, if (place < count) 0 else 1) }
            if (codes.size < count && changes.isNotEmpty()) {
                changes[changes.size - 1] = changes.last().let { it.copy(kind = it.kind - (count - codes.size)) }
            }
        }
        for (group in groups(text)) {
            val isShort = group.sumOf { width(it) } <= LONGEST_GRAPHEME
            val whole = if (isShort) group.indices.firstNotNullOfOrNull { step.maps[group.take(it + 1)] } else null
            if (whole != null) put(group.size, whole)
            else for (code in group) step.maps[listOf(code)]?.let { put(1, it) } ?: changes.add(Change(code, 0))
        }
        return if (modified) change(text, changes) else text
    }

    /** Graphemes (Unicode Standard Annex 29, of which flags are longer than what is replaced). */
    private fun groups(text: List<Character>): List<List<Int>> {
        val groups = ArrayList<MutableList<Int>>()
        var picture = ""
        var conjunct = ""
        for ((code) in text) {
            if (groups.isNotEmpty() && joins(groups.last().last(), code, picture, conjunct)) groups.last().add(code)
            else groups.add(mutableListOf(code))
            picture = when {
                within("picture", code) -> "open"
                picture == "open" && code == ZWJ -> "joined"
                picture == "open" && within("extend", code) -> picture
                else -> ""
            }
            conjunct = when {
                within("consonant", code) -> "open"
                conjunct != "" && within("linker", code) -> "linked"
                within("between", code) -> conjunct
                else -> ""
            }
        }
        return groups
    }

    private fun joins(before: Int, after: Int, picture: String, conjunct: String): Boolean = when {
        within("control", before) || within("control", after) -> false
        within("extend", after) || within("spacing", after) || within("prepend", before) -> true
        picture == "joined" && within("picture", after) -> true
        conjunct == "linked" && within("consonant", after) -> true
        within("lead", before) -> within("lead", after) || within("vowel", after) || isSyllable(after)
        within("vowel", before) || isOpen(before) -> within("vowel", after) || within("tail", after)
        else -> (within("tail", before) || isSyllable(before)) && within("tail", after)
    }

    /** The words of a text, which are split further into tokens. */
    private fun split(text: List<Character>): List<List<Character>> = splits.fold(listOf(text)) { words, split ->
        words.flatMap { word ->
            when (split[0]) {
                "white" -> cut(word, "dropped") { within("white", it) }
                "marks" -> cut(word, "alone") { within("punctuation", it) }
                "runs" -> cutAt(word, ::runEnd)
                "words" -> splitAtMarks(word, split[1].toInt(16), split[2], split[3] == "1")
                "bytes" -> splitBytes(word, split[1] == "1")
                else -> throw IllegalArgumentException("subwords.txt must hold pre-tokenizers, got ${split[0]}")
            }
        }
    }

    /** Words with a mark in front of each (SentencePiece). */
    private fun splitAtMarks(text: List<Character>, code: Int, scheme: String, cuts: Boolean): List<List<Character>> {
        var word = text.map { if (it.code == SPACE) it.copy(code = code) else it }
        val isPrefixed = scheme == "always" || scheme == "first" && word.firstOrNull()?.start == 0
        if (isPrefixed && word.isNotEmpty() && word[0].code != code) word = listOf(word[0].copy(code = code)) + word
        return if (cuts) cut(word, "first") { it == code } else listOf(word)
    }

    /** The words of GPT-2's expression: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
    private fun splitBytes(text: List<Character>, prefix: Boolean): List<List<Character>> {
        val isPrefixed = prefix && text.isNotEmpty() && text[0].code != SPACE
        return cutAt(if (isPrefixed) listOf(text[0].copy(code = SPACE)) + text else text, ::wordEnd)
    }

    private fun cutAt(
        text: List<Character>,
        findEnd: (List<Character>, List<String>, Int) -> Int,
    ): List<List<Character>> {
        val kinds = text.map { one -> listOf("letter", "number", "space").firstOrNull { within(it, one.code) } ?: "other" }
        val parts = ArrayList<List<Character>>()
        var first = 0
        while (first < text.size) {
            val last = findEnd(text, kinds, first)
            parts.add(text.subList(first, last))
            first = last
        }
        return parts
    }

    /** The end of a word of Llama 3's expression, see `LLAMA_WORDS` of the library. */
    private fun runEnd(text: List<Character>, kinds: List<String>, first: Int): Int {
        fun isLineEnd(place: Int) = text.getOrNull(place)?.code in LINE_ENDS
        fun behind(start: Int, kind: String): Int {
            var end = start
            while (kinds.getOrNull(end) == kind) end += 1
            return end
        }
        fun isLetter(letter: Int, place: Int) =
            text.getOrNull(place)?.let { within(letter.toChar().toString(), it.code) } ?: false
        if (text[first].code == APOSTROPHE) {
            val rest = CONTRACTIONS.firstOrNull { name -> name.indices.all { isLetter(name[it], first + 1 + it) } }
            if (rest != null) return first + 1 + rest.size
        }
        val opens = kinds[first] != "number" && !isLineEnd(first) && kinds.getOrNull(first + 1) == "letter"
        if (kinds[first] == "letter" || opens) return behind(first + 1, "letter")
        if (kinds[first] == "number") return minOf(behind(first, "number"), first + 3)
        val start = if (text[first].code == SPACE && kinds.getOrNull(first + 1) == "other") first + 1 else first
        if (kinds[start] == "other") {
            var end = behind(start, "other")
            while (isLineEnd(end)) end += 1
            return end
        }
        val end = behind(first, "space")
        for (place in end downTo first + 1) if (isLineEnd(place - 1)) return place
        // The last space of several belongs to the next word.
        return if (end < text.size && end - first > 1) end - 1 else end
    }

    private fun wordEnd(text: List<Character>, kinds: List<String>, first: Int): Int {
        if (text[first].code == APOSTROPHE) {
            CONTRACTIONS.firstOrNull { startsWith(text, first + 1, it) }?.let { return first + 1 + it.size }
        }
        val start = if (text[first].code == SPACE && kinds.getOrElse(first + 1) { "space" } != "space") first + 1 else first
        var end = start
        while (end < text.size && kinds[end] == kinds[start]) end += 1
        // The last space of several belongs to the next word.
        return if (kinds[start] == "space" && end < text.size && end - first > 1) end - 1 else end
    }

    /** Parts of a text; a separator is dropped, or is the first or all of its part. */
    private fun cut(text: List<Character>, place: String, isSeparator: (Int) -> Boolean): List<List<Character>> {
        val parts = ArrayList<MutableList<Character>>()
        var open = false
        for (character in text) {
            val separates = isSeparator(character.code)
            if (separates) open = false
            if (separates && place == "dropped") continue
            if (!open) parts.add(ArrayList())
            open = !(separates && place == "alone")
            parts.last().add(character)
        }
        return parts
    }

    /** WordPiece: the longest token that a word, or its rest, begins with; one unknown token where there is none. */
    private fun spell(word: List<Character>): List<Token> {
        val (_, _, unknown) = row
        val tokens = ArrayList<Token>()
        var first = 0
        while (first < word.size && word.size <= longestWord) {
            val prefix = if (first > 0) CONTINUATION else ""
            val (last, id) = (word.size downTo first + 1).firstNotNullOfOrNull { last ->
                words[prefix + text(word.subList(first, last))]?.let { last to it }
            } ?: break
            tokens.add(Token(id, word[first].start, word[last - 1].end))
            first = last
        }
        return if (first == word.size) tokens else listOf(Token(unknown, word.first().start, word.last().end))
    }

    private fun text(characters: List<Character>): String =
        characters.fold(StringBuilder()) { text, one -> text.appendCodePoint(one.code) }.toString()

    /** BPE: a word that is a token, else the pair of the lowest rank is merged first, the leftmost of several. */
    private fun merge(word: List<Character>): List<Token> {
        var tokens = word.flatMap { (code, start, end) ->
            (letters[code]?.let { listOf(it) } ?: utf8(code).map { bytes[it] }).map { Token(it, start, end) }
        }
        if (words.isNotEmpty()) {
            val id = words[tokens.joinToString("") { pieces[it.id] }]
            if (id != null) return listOf(Token(id, word.first().start, word.last().end))
        }
        fun find(one: Token?, other: Token?) = if (one == null || other == null) null else merges[one.id to other.id]
        while (true) {
            val best = (1 until tokens.size).mapNotNull { find(tokens[it - 1], tokens[it]) }.minByOrNull { it.rank }
                ?: return tokens
            val merged = ArrayList<Token>()
            var place = 0
            // A merge may allow one of a lower rank beside it, which comes first then.
            var lower = false
            while (place < tokens.size && !lower) {
                if (find(tokens[place], tokens.getOrNull(place + 1)) === best) {
                    val token = Token(best.id, tokens[place].start, tokens[place + 1].end)
                    val beside = listOf(find(merged.lastOrNull(), token), find(token, tokens.getOrNull(place + 2)))
                    lower = beside.any { it != null && it.rank < best.rank }
                    merged.add(token)
                    place += 2
                } else merged.add(tokens[place++])
            }
            tokens = merged + tokens.drop(place)
        }
    }

    /** Unigram: the tokens with the highest sum of scores (Viterbi 1967); of equal sums the first one that is found. */
    private fun search(word: List<Character>): List<Token> {
        val (_, _, unknown) = row
        val best = Array(word.size + 1) { Best(0.0, -1, unknown) }
        for (first in word.indices) {
            fun offer(last: Int, score: Double, id: Int) {
                val sum = score + best[first].score
                if (best[last].first < 0 || sum > best[last].score) best[last] = Best(sum, first, id)
            }
            val piece = StringBuilder()
            var isKnown = false
            for (last in first + 1..minOf(word.size, first + longest)) {
                piece.appendCodePoint(word[last - 1].code)
                val id = ids[piece.toString()] ?: continue
                offer(last, scores[id], id)
                isKnown = isKnown || last == first + 1
            }
            if (!isKnown) offer(first + 1, unknownScore, unknown)
        }
        val tokens = ArrayDeque<Token>()
        var last = word.size
        while (last > 0) {
            val (first, id) = best[last].first to best[last].id
            // Unknown characters side by side are one token.
            val end = if (id == unknown && tokens.firstOrNull()?.id == id) tokens.removeFirst().end else word[last - 1].end
            tokens.addFirst(Token(id, word[first].start, end))
            last = first
        }
        return tokens
    }

    private fun within(name: String, code: Int): Boolean =
        (classes[name] ?: emptyList()).binarySearch { if (it.last < code) -1 else if (it.first > code) 1 else 0 } >= 0

    private fun startsWith(text: List<Character>, start: Int, codes: List<Int>): Boolean =
        codes.indices.all { text.getOrNull(start + it)?.code == codes[it] }

    private fun codes(words: List<String>): List<Int> = words.map { it.toInt(16) }

    private fun characters(text: String): List<Character> {
        var end = 0
        return text.codePoints().toArray().map { code ->
            Character(code, end, end + java.lang.Character.charCount(code)).also { end = it.end }
        }
    }

    private fun width(code: Int): Int = if (code < 0x80) 1 else if (code < 0x800) 2 else if (code < 0x10000) 3 else 4

    private fun utf8(code: Int): List<Int> = String(intArrayOf(code), 0, 1).toByteArray().map { it.toInt() and 0xFF }

    private companion object {
        /** Below the lowest score (`kUnkPenalty` of google/sentencepiece). */
        const val UNKNOWN_PENALTY = 10.0

        /** Bytes; longer ones are replaced character by character. */
        const val LONGEST_GRAPHEME = 5
        const val SPACE = 0x20
        const val APOSTROPHE = 0x27
        const val ZWJ = 0x200D
        val LINE_ENDS = listOf(0xA, 0xD)

        /** Of a word, in WordPiece. */
        const val CONTINUATION = "##"
        val CONTRACTIONS = listOf("s", "t", "re", "ve", "m", "ll", "d").map { text -> text.map { it.code } }

        // How syllables of Hangul are made of their letters (The Unicode Standard, section 3.12).
        const val FIRST_SYLLABLE = 0xAC00
        const val LEADS = 0x1100
        const val VOWELS = 0x1161
        const val TAILS = 0x11A7
        const val LEAD_COUNT = 19
        const val VOWEL_COUNT = 21
        const val TAIL_COUNT = 28
        const val SYLLABLE_COUNT = 11172
    }
}

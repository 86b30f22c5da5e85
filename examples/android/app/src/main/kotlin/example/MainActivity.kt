package example

import android.app.Activity
import android.os.Bundle
import android.text.Editable
import android.text.TextWatcher
import android.util.Log
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import com.google.ai.edge.litert.CompiledModel

/** A field to type in, the labels of the text below it, what runs the model, and if it answers as `golden.json` says. */
class MainActivity : Activity() {
    private lateinit var classifier: Classifier

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val (field, answers, golden) = Triple(EditText(this), TextView(this), TextView(this))
        var reason = ""
        classifier = Classifier.open(
            { name -> assets.open("model/$name").use { it.readBytes() } },
            { name, options -> CompiledModel.create(assets, "model/$name", options) },
            {
                Log.w("Classifier", it)
                reason = ", as $it"
            },
        )
        golden.text = String.format(
            "on the %s%s; golden.json: logits differ by at most %.4f",
            classifier.accelerator, reason, classifier.checkGolden()
        )
        field.addTextChangedListener(object : TextWatcher {
            override fun beforeTextChanged(text: CharSequence?, start: Int, count: Int, after: Int) = Unit

            override fun onTextChanged(text: CharSequence?, start: Int, before: Int, count: Int) = Unit

            override fun afterTextChanged(text: Editable?) {
                val ranking = classifier.classify(text.toString())
                val lines = ranking.map { String.format("%.3f  %s", it.probability, it.label) }
                val hint = if (ranking.first().isSure) emptyList<String>() else listOf("not sure")
                answers.text = (lines + hint).joinToString("\n")
            }
        })
        val column = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        listOf(field, answers, golden).forEach(column::addView)
        setContentView(column)
    }

    override fun onDestroy() {
        classifier.close()
        super.onDestroy()
    }
}

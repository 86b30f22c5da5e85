"""The model card says what the metrics say."""

from components.scoring.model_card import render_model_card


def test_the_card_holds_labels_lengths_and_every_row() -> None:
    rows = {
        "bag of words": {"accuracy": 0.7, "macro_f1": 0.65},
        "tflite int8": {"accuracy": 0.75, "macro_f1": 0.7, "megabytes": 1.5, "milliseconds": 0.091},
    }
    recipe = {"model.tflite": {"lengths": [32, 64]}}
    card = render_model_card("reviews", 3, {"test_rows": 12, "models": rows}, ["bad", "good"], recipe)
    assert card.startswith("# reviews, version 3\n\nA BERT classifier of texts into 2 labels: bad, good.\n")
    assert "| bag of words | 70.00 | 0.6500 |  |  |" in card
    assert "| tflite int8 | 75.00 | 0.7000 | 1.50 | 0.09 |" in card
    assert "any batch and length up to 64 tokens" in card
    assert "On 12 test rows" in card

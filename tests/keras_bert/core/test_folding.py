"""Texts that differ in their writing alone have one form, and others do not."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.core.folding import fold

# Each in all but white space, letter case and its representation in Unicode the same as the first.
NEARLY = (
    "Straße No. 1 für Ångström",
    "STRASSE  no. 1\tFÜR ångström",
    "\ufeffStra\u00dfe No. 1 fu\u0308r \u212bngström ",
    "Stra\u00adße\u00a0No.\u3000\uff11 fu\u200b\u0308r Ångström\n",
    "\uff33traße \u2116\u200e. 1 für Ångström",
)
# One text in several forms, as editors, keyboards and older encodings write it.
FORMS = [
    ("Fluß", "FLUSS"),
    ("don\u2019t \u2014 he said", "don't - he said"),
    ("l\u02bceau \u2018douce\u2019", "L'EAU 'douce'"),
    ("\u201cco\u2011op\u201d \u2212 5", '"co-op" - 5'),
    ("\uff26\uff55\uff4c\uff4c \uff17", "full 7"),
    ("co\u00adop\u034f \u2764\ufe0f", "coop \u2764"),
    ("\uac00\u3164\u180e", "\u1100\u1161"),
    *(
        (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text).upper())
        for text in ("Tiếng Việt là ngôn ngữ", "한국어 문장", "L\u2019été à Nîmes, déjà", "γλώσσα, μαΐου ᾧ")
    ),
]


def test_texts_that_are_nearly_equal_by_hand():
    assert {fold(text) for text in NEARLY} == {"strasse no. 1 für ångström"}
    assert fold("\ufb01nd \u2460 \u3392") == "find 1 mhz"
    different = ["a b", "ab", "a-b", "a.b", "à b", "a b.", "", "a\0b", "\u0430 b", "a'b", "a\u0600 b"]
    assert len({fold(text) for text in different}) == len(different)


@pytest.mark.parametrize(("text", "other"), FORMS)
def test_forms_of_a_text_are_equal(text, other):
    assert fold(text) == fold(other)


@settings(max_examples=200)
@given(st.text(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.randoms(use_true_random=False))
def test_a_text_in_another_form_is_nearly_equal(text, form, generator):
    other = unicodedata.normalize(form, text.lower() if generator.random() < 0.5 else text.casefold())
    place = generator.randrange(len(other) + 1)
    other = other[:place] + generator.choice("\u00ad\u200b\ufeff\u202e\ufe0f") + other[place:]
    other = "".join(generator.choice([" ", "\n\u3000"]) if character == " " else character for character in other)
    assert fold(f"\t{other} ") == fold(text)
    assert fold(fold(text)) == fold(text)

"""Where Hugging Face `tokenizers` 0.23.3 departs from the Unicode 14.0 of Python 3.11's `unicodedata`.

The library mixes the Unicode versions of the crates it is built from: its general categories are older and its lower
case is newer. `code_points.py` prints these constants.
"""


def _code_points(ranges):
    """The code points of ranges in hexadecimal, ends included."""
    code_points = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        code_points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(code_points)


def _pairs(pairs):
    """Code point -> code point, of lines `first-last target of first`."""
    targets = {}
    for pair in pairs.split(","):
        sources, target = pair.split()
        for place, code_point in enumerate(sorted(_code_points(sources))):
            targets[code_point] = int(target, 16) + place
    return targets


# Format characters that are kept: they were unassigned.
LATER_FORMATS = _code_points("890-891 8e2 110cd 13430-13438")

# Nonspacing marks that are kept: they were unassigned, or of another category.
LATER_MARKS = _code_points(
    "7fd 898-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba 180f 1885-1886 1abf-1ace 1df6-1dfb a82c a8c5 a8ff "
    "a9bd 10d24-10d27 10eab-10eac 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf 1123e 1133b 11438-1143f "
    "11442-11444 11446 1145e 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a "
    "11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 11c30-11c36 11c38-11c3d 11c3f "
    "11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 "
    "11d97 11ef3-11ef4 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a "
    "1e130-1e136 1e2ae 1e2ec-1e2ef 1e944-1e94a"
)

# A spacing mark that is removed: it was a nonspacing one.
FORMER_MARKS = _code_points("1734")

# Characters that stay whole: their decomposition came later.
LATER_DECOMPOSITIONS = _code_points("11938")

# Letters whose lower case Python does not know yet.
LATER_LOWER_CASE = _pairs(
    "1c89 1c8a,a7cb 264,a7cc a7cd,a7ce a7cf,a7d2 a7d3,a7d4 a7d5,a7da a7db,a7dc 19b,10d50-10d65 10d70,16ea0-16eb8 16ebb"
)

"""A process that looks at one file and ends: `python -m pipeline.bench.child NAME JSON`, the answer a line of JSON."""

import json
import sys

from components.scoring.file_bench import Asked, bench_file, look_inside, profile_file

ABOUT = {"bench": bench_file, "inside": look_inside, "profile": profile_file}


def main() -> None:
    """Writes what was found, or {"error": ...} where the file cannot be used."""
    about, asked = ABOUT[sys.argv[1]], Asked(**json.loads(sys.argv[2]))
    try:
        found = about(asked)
    except ValueError as error:
        found = {"error": " ".join(str(error).split())}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

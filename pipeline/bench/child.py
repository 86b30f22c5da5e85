"""A process that measures one file: `python -m pipeline.bench.child NAME JSON` prints the result as a line of JSON."""

import json
import sys

from components.scoring.file_bench import BenchRequest, bench_file, look_inside, profile_file

MEASUREMENTS = {"bench": bench_file, "inside": look_inside, "profile": profile_file}


def main() -> None:
    """Prints the result, or {"error": ...} if the file cannot be used."""
    measure, request = MEASUREMENTS[sys.argv[1]], BenchRequest(**json.loads(sys.argv[2]))
    try:
        result = measure(request)
    except ValueError as error:
        result = {"error": " ".join(str(error).split())}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()

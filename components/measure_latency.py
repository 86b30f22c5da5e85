"""EdgeModel -> Latency: the sizes of its files, and the time of an answer."""

from components.artifacts.measurements import FileFootprint, Latency
from components.artifacts.standard import EdgeModel
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from keras_bert.core.folders import ANSWERING_FILES, TASK_FILE, TOKENIZER_FILES
from keras_bert.export.files import count_bytes, count_download_bytes


@component(libraries=("ai-edge-litert", "numpy", "onnxruntime"), kind="measurement")
def measure_latency(edge: Input[EdgeModel], latency: Output[Latency], lengths: tuple[int, ...] = (32, 128)) -> None:
    """Times each file on one thread with full rows of some lengths: the median of a hundred answers.

    Milliseconds depend on this machine and its present load: the step runs once, and equal inputs reuse its result.
    """
    from components.scoring.latency import TIMED_ROWS, full_row, time_rows
    from keras_bert.export.runtimes import open_file

    settings = edge.read_json(TASK_FILE)
    entries = len((edge.path / TOKENIZER_FILES[0]).read_text(encoding="utf-8").splitlines())
    files: dict[str, FileFootprint] = {}
    held = [name for name in ANSWERING_FILES if edge.file(name).is_file()]
    for number, name in enumerate(held):
        report_progress(number, len(held), name)
        runtime = open_file(edge.file(name), settings["max_length"])
        milliseconds = {
            str(length): time_rows(runtime.predict_on_batch, [full_row(length, entries)] * TIMED_ROWS)
            for length in lengths
        }
        file = edge.file(name)
        files[name] = FileFootprint(count_bytes(file), count_download_bytes(file), milliseconds)
    latency.write(files)
    latency.counts = {name: figures.bytes for name, figures in files.items()}

"""All verbs, by the goal that help lists them under."""

from pipeline.commands.bench import BENCH
from pipeline.commands.compare import COMPARE
from pipeline.commands.compile import COMPILE
from pipeline.commands.describe import DESCRIBE
from pipeline.commands.diff import DIFF
from pipeline.commands.doctor import DOCTOR
from pipeline.commands.explain import EXPLAIN
from pipeline.commands.gc import GC
from pipeline.commands.init import INIT
from pipeline.commands.inspect import INSPECT
from pipeline.commands.ladder import LADDER
from pipeline.commands.lineage import LINEAGE
from pipeline.commands.predict import PREDICT
from pipeline.commands.report import REPORT
from pipeline.commands.run import RUN
from pipeline.commands.schema import SCHEMA
from pipeline.commands.shrink import SHRINK
from pipeline.commands.status import STATUS
from pipeline.commands.step import STEP
from pipeline.commands.tune import TUNE
from pipeline.commands.why import WHY

GROUPS = {
    "make a model": (INIT, RUN, SHRINK, SCHEMA),
    "use a model": (PREDICT, EXPLAIN, BENCH, DESCRIBE),
    "choose settings": (TUNE, COMPARE, LADDER, DOCTOR),
    "understand a run": (STATUS, REPORT, INSPECT, WHY, DIFF, LINEAGE),
    "run a job elsewhere": (COMPILE, STEP),
    "clean up": (GC,),
}

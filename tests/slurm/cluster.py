"""A Slurm cluster on loopback: munge, a controller and two nodes, as processes of this user."""

import getpass
import os
import shutil
import socket
import subprocess
import time

from tests.processes import free_ports

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
NODES = ("n1", "n2")
_SECONDS = 300.0

# Processes are found by their parents, as the kernel of a test may have no control groups that Slurm can use. A job
# that is requeued waits until its credential has expired.
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=15
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=20
KillWait=5
MinJobAge=3600
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=2000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=2000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs():
    """Programs of Slurm and munge that are not installed."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


class SlurmCluster:
    """A running cluster; `stop` ends it.

    Args:
        folder: an empty folder for its files.

    Attributes:
        environment: the environment in which its commands find it.
    """

    def __init__(self, folder):
        self.folder = folder
        (folder / "state").mkdir()
        configuration = folder / "slurm.conf"
        host, user = socket.gethostname(), getpass.getuser()
        text = _CONFIGURATION.format(host=host, user=user, folder=folder, ports=free_ports(3))
        configuration.write_text(text)
        path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
        self.environment = {**os.environ, "SLURM_CONF": str(configuration), "PATH": path}
        self._processes = []
        try:
            self._start_munge()
            self._start("slurmctld", "-D")
            for node in NODES:
                self._start("slurmd", "-D", "-N", node)
            self.wait_until(lambda: self.call("sinfo", "-h", "-o", "%T %D") == "idle 2", "both nodes are idle")
        except BaseException:
            self.stop()
            raise

    def call(self, *command):
        """The output of a command of Slurm, which must not fail."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def jobs(self):
        """Number, state and node of each active job, oldest first."""
        lines = self.call("squeue", "-h", "-S", "i", "-o", "%i|%T|%N").splitlines()
        return [line.split("|") for line in lines]

    def running_job(self):
        """The job that runs alone, once it does: number, state and node."""
        self.wait_until(lambda: [job[1] for job in self.jobs()] == ["RUNNING"], "one job runs")
        return self.jobs()[0]

    def set_state(self, node, state):
        """Sets the state of a node: `drain` or `down`."""
        self.call("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test")

    def resume(self):
        """Puts all nodes back into service that are not."""
        for line in self.call("sinfo", "-h", "-N", "-o", "%N %T").splitlines():
            node, state = line.split()
            if state.rstrip("*") not in ("idle", "mixed", "allocated"):
                self.set_state(node, "resume")

    def ended_jobs(self):
        """Number -> state and node of all jobs that the controller remembers."""
        lines = self.call("scontrol", "-o", "show", "jobs").splitlines()
        fields = [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in lines]
        return {field["JobId"]: (field["JobState"], field["NodeList"]) for field in fields}

    def wait_until(self, holds, what):
        """Waits for a condition, for some minutes at most."""
        deadline = time.monotonic() + _SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"{what} must come true\n{self.read_logs()}"
            assert all(process.poll() is None for process in self._processes), self.read_logs()
            time.sleep(0.1)

    def read_logs(self):
        """The last lines that each daemon printed."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}" for log in logs)

    def stop(self):
        """Ends all jobs and daemons."""
        if len(self._processes) > 1:
            subprocess.run(["scancel", "--user", getpass.getuser()], env=self.environment, check=False, timeout=30)
            time.sleep(1)
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = {"socket": "munge.sock", "pid-file": "munge.pid", "seed-file": "munge.seed", "log-file": "munge.out"}
        options = [f"--{name}={self.folder / file}" for name, file in files.items()]
        # Forced, as the folder of a test may be writable for a group.
        self._start("munged", "--foreground", "--force", f"--key-file={key}", *options)
        self.wait_until((self.folder / "munge.sock").exists, "munge's socket exists")

    def _start(self, *command):
        with (self.folder / f"{command[0]}-{len(self._processes)}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)
            )

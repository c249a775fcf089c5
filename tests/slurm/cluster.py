"""A real Slurm on this machine, in a folder of its own: munged, slurmctld and four slurmd. Partition `low`, the default,
has nodes n1 and n2; jobs in `urgent` preempt those in `spot`, on n3 and n4.

Nothing outside the folder is written, no port or socket of another Slurm is used, and everything is ended by process
id. Needs the Debian packages of the group `slurm` (cmake/packages-debian.txt). Python's standard library only.
"""
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
NODES = ("n1", "n2", "n3", "n4")
CPUS_PER_NODE = 16
KILL_WAIT = 15  # seconds from TERM to KILL; a save fits in
# Ended states of a job, as `scontrol show job` prints them.
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}

CONFIGURATION = """\
ClusterName=shardgpt-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/task_prolog.sh
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait={kill_wait}
MinJobAge=600
SchedulerParameters=sched_interval=2,sched_min_interval=100000,bf_interval=2
InactiveLimit=0
MessageTimeout=30
NodeName=n[1-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{node_port}-{last_node_port}] CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=low Nodes=n[1-2] Default=YES MaxTime=INFINITE PreemptMode=OFF State=UP
PartitionName=spot Nodes=n[3-4] GraceTime=60 PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=urgent Nodes=n[3-4] PriorityTier=10 MaxTime=INFINITE PreemptMode=OFF State=UP
"""

# Two nodes on one machine: Open MPI names its shared memory by host, user, job and local rank, so the nodes need
# folders of their own. What a task prolog prints as `export` becomes the environment of the task; so a job can name
# a library for its tasks alone.
TASK_PROLOG = """\
#!/bin/sh
mkdir -p /dev/shm/shardgpt-test-$SLURMD_NODENAME
echo export OMPI_MCA_btl_vader_backing_directory=/dev/shm/shardgpt-test-$SLURMD_NODENAME
[ -z "$SHARDGPT_TEST_PRELOAD" ] || echo export LD_PRELOAD=$SHARDGPT_TEST_PRELOAD
"""


def missing_programs():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in DAEMONS + ("srun", "sbatch", "scontrol", "squeue", "scancel") if not shutil.which(name, path=path)]


def free_ports(count):
    """The first of `count` neighbouring ports that nobody listens on."""
    for first in range(20000 + os.getpid() % 10000, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


class Cluster:
    """Starts everything when made; stop() ends it. One controller for all scenarios of a test run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.processes = []
        self.environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}
        # An outer Slurm or MPI job says nothing about this one.
        for name in list(self.environment):
            if name.startswith(("SLURM_", "PMI", "OMPI_COMM_WORLD")) and name != "SLURM_CONF":
                del self.environment[name]
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        for name in ["state"] + [f"{kind}-{node}" for node in NODES for kind in ("spool", "tmp")]:
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)  # munged refuses what others may write
        host = socket.gethostname().split(".")[0]
        port = free_ports(1 + len(NODES))
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, host=host, user=getpass.getuser(), ctld_port=port, node_port=port + 1,
            last_node_port=port + len(NODES), cpus=CPUS_PER_NODE, kill_wait=KILL_WAIT))
        prolog = self.folder / "task_prolog.sh"
        prolog.write_text(TASK_PROLOG)
        prolog.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._launch("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={key}",
                     f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                     f"--seed-file={self.folder}/munge.seed", "--num-threads=2")
        self._wait_for((self.folder / "munge.socket").exists, "munged's socket")
        self._launch("slurmctld", "-D", "-c")
        for node in NODES:
            self._launch("slurmd", "-D", "-N", node)
        self._wait_for(lambda: self.call("sinfo", "-h", "-N", "-p", "low,spot", "-o", "%T", check=False).split() ==
                       ["idle"] * len(NODES), "idle nodes")

    def _launch(self, *command):
        log = open(self.folder / f"{command[0]}-{len(self.processes)}.out", "wb")
        self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                               env=self.environment, start_new_session=True))
        log.close()

    def _wait_for(self, condition, what, seconds=40):
        deadline = time.monotonic() + seconds
        while not condition():
            dead = [process.args[0] for process in self.processes if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise RuntimeError(f"no {what}; ended: {dead}\n{self.logs()}")
            time.sleep(0.2)

    def logs(self):
        files = sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out"))
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def stop(self):
        if self.processes:
            subprocess.run(["scancel", f"--user={getpass.getuser()}", "--signal=KILL", "--full"],
                           env=self.environment, capture_output=True, timeout=30, check=False)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and len(self._own_processes()) > len(self.processes):
                time.sleep(0.2)
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
        for pid in self._own_processes():  # what outlived its slurmd
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for node in NODES:
            shutil.rmtree(f"/dev/shm/shardgpt-test-{node}", ignore_errors=True)

    def _own_processes(self):
        """Process ids of everything that runs under this cluster's configuration, but for this process."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    # --- what users type -------------------------------------------------------------------------------------------

    def call(self, *command, check=True, env=None, timeout=120):
        result = subprocess.run([str(part) for part in command], env={**self.environment, **(env or {})}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        if check and result.returncode != 0:
            raise subprocess.CalledProcessError(result.returncode, command, result.stdout)
        return result.stdout

    def ask(self, *command):
        """call() of what only reads: once more when a busy controller drops the connection, which ends a client of
        Slurm 22.05 with SIGPIPE."""
        for _ in range(3):
            try:
                return self.call(*command)
            except subprocess.CalledProcessError as error:
                if error.returncode != -signal.SIGPIPE:
                    raise
        return self.call(*command)

    def submit(self, script, *arguments, options=(), env=None):
        """sbatch; returns the job id."""
        output = self.call("sbatch", "--parsable", *options, script, *arguments, env=env)
        return output.strip().splitlines()[-1].split(";")[0]

    def job(self, job_id):
        """`scontrol show job` as a dictionary."""
        text = self.ask("scontrol", "-o", "show", "job", job_id)
        return dict(field.split("=", 1) for field in text.split() if "=" in field)

    def state(self, job_id):
        return self.job(job_id)["JobState"]

    def wait(self, job_id, states=None, seconds=180):
        """Waits until the job has one of the states, by default any in which it is over; returns its fields. A job
        that was requeued and waits two minutes is let go after some seconds: its last step must be cleared away first."""
        deadline = time.monotonic() + seconds
        hurried = False
        while True:
            fields = self.job(job_id)
            if fields["JobState"] in (states or ENDED):
                if states or fields["JobState"] == "COMPLETED":
                    return fields
                time.sleep(4)  # a job that is being requeued looks failed for a moment
                if self.job(job_id)["JobState"] == fields["JobState"]:
                    return fields
            if fields["JobState"] == "PENDING" and fields.get("Reason") == "BeginTime" and not hurried:
                hurried = True
                self.call("scontrol", "update", f"JobId={job_id}", "StartTime=now+8", check=False)
            elif fields["JobState"] != "PENDING":
                hurried = False
            if time.monotonic() > deadline:
                raise AssertionError(f"job {job_id} is {fields['JobState']} after {seconds} s: {fields}")
            time.sleep(0.5)

"""A Slurm cluster on one machine, for tests: three nodes, each with a name and a network interface of its own.

The script that calls `enter()` is started again in namespaces of its own (network, mounts, processes), which end with it and take every
process along. Nodes are further namespaces (network, host name) at one bridge; the controller and the test run beside it. Slurm,
munge and the nodes see one file system, as on a cluster with a shared one. Needs root, and what tools/packages.txt lists
under `slurm`."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NODES = ("n1", "n2", "n3")
PROCESSORS = 2
CONFIGURATION = """\
ClusterName=credence
SlurmctldHost=head(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobRequeue=1
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=8
KillWait=5
MinJobAge=600
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def enter():
    """Goes on in the cluster's namespaces, or skips the test where they or Slurm can't be had."""
    if os.environ.get("CREDENCE_CLUSTER") == "inside":
        return
    if os.getuid() != 0:
        skip("a cluster on one machine needs root")
    for program in ("slurmctld", "slurmd", "sbatch", "munged", "ip", "unshare"):
        if shutil.which(program) is None:
            skip(f"there is no {program} here (tools/install-packages slurm)")
    apart = ["unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*apart, "ip", "link", "add", "trial", "type", "bridge"], capture_output=True).returncode != 0:
        skip("no namespaces of our own can be made here")
    inside = dict(os.environ, CREDENCE_CLUSTER="inside")
    sys.exit(subprocess.run([*apart, sys.executable, *sys.argv], env=inside).returncode)


def shell(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="credence-slurm-")
        for name in ("munge", "state", "tmp"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        self.nodes = {}
        self.make_network()
        self.write_configuration()
        self.start_head()
        for node in NODES:
            self.start_node(node)
        self.until(lambda: self.states() == {"idle"}, "all nodes are idle", 60)

    def make_network(self):
        shell("hostname", "head")
        shell("ip", "link", "set", "lo", "up")
        shell("ip", "link", "add", "hub", "type", "bridge")
        shell("ip", "addr", "add", "10.77.0.254/24", "dev", "hub")
        shell("ip", "link", "set", "hub", "up")
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w") as file:
            file.write("127.0.0.1 localhost\n10.77.0.254 head\n" + "".join(f"10.77.0.{i + 1} {node}\n" for i, node in enumerate(NODES)))
        shell("mount", "--bind", hosts, "/etc/hosts")

    def write_configuration(self):
        lines = [f"NodeName={node} NodeHostname={node} NodeAddr=10.77.0.{i + 1} CPUs={PROCESSORS} RealMemory=4000 State=UNKNOWN"
                 for i, node in enumerate(NODES)]
        for place in ("head", *NODES):
            os.mkdir(os.path.join(self.folder, place))
            with open(self.configuration(place), "w") as file:
                file.write(CONFIGURATION.format(folder=self.folder, nodes="\n".join(lines)))
            with open(os.path.join(self.folder, place, "mpi.conf"), "w") as file:
                file.write(f"PMIxCliTmpDirBase={self.folder}/tmp.{place}\n")  # else of one name on all nodes
        os.environ["SLURM_CONF"] = self.configuration("head")

    def configuration(self, place):
        return os.path.join(self.folder, place, "slurm.conf")

    def start_head(self):
        munge = os.path.join(self.folder, "munge")
        with open(f"{munge}/key", "wb") as file:
            file.write(os.urandom(128))
        os.chmod(f"{munge}/key", 0o400)
        shell("munged", "--force", "--key-file", f"{munge}/key", "--socket", f"{munge}/socket", "--pid-file", f"{munge}/pid",
              "--log-file", f"{munge}/log", "--seed-file", f"{munge}/seed")
        subprocess.Popen(["slurmctld", "-D"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_node(self, node):
        """A process that holds the node's namespaces, joined to the hub, and slurmd in them."""
        holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", f"hostname {node}; echo ready; exec sleep infinity"],
                                  stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"no namespaces for {node}")
        for own in (f"spool.{node}", f"tmp.{node}"):  # a node that comes back does so with an empty disk
            shutil.rmtree(os.path.join(self.folder, own), ignore_errors=True)
            os.mkdir(os.path.join(self.folder, own))
        number = NODES.index(node) + 1
        shell("ip", "link", "add", f"to{node}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        shell("ip", "link", "set", f"to{node}", "master", "hub", "up")
        inside = ["nsenter", "--net", "--uts", "--target", str(holder.pid)]
        shell(*inside, "ip", "link", "set", "lo", "up")
        shell(*inside, "ip", "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
        shell(*inside, "ip", "link", "set", "eth0", "up")
        slurmd = subprocess.Popen([*inside, "slurmd", "-D", "-N", node, "-f", self.configuration(node)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=dict(os.environ, SLURM_CONF=self.configuration(node)))
        self.nodes[node] = (holder, slurmd)

    def lose(self, node):
        """The node dies as if its power were cut: no process of it goes on, and its network is gone."""
        holder, slurmd = self.nodes.pop(node)
        mine = os.readlink(f"/proc/{holder.pid}/ns/net")
        shell("ip", "link", "delete", f"to{node}")
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.readlink(f"/proc/{name}/ns/net") == mine:
                    os.kill(int(name), signal.SIGKILL)
            except OSError:
                continue
        holder.wait()
        slurmd.wait()

    def states(self):
        answer = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True)
        return set(answer.stdout.split())

    def until(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"in {seconds} s it didn't come to this: {what}\n{self.story()}")
            time.sleep(0.2)

    def story(self):
        text = subprocess.run("squeue -o '%i %T %r %N'; sinfo -N -l; tail -n 20 *.log", shell=True, capture_output=True, text=True, cwd=self.folder)
        return text.stdout + text.stderr

    def submit(self, script, *options):
        """A job's number. Its output is NUMBER.out, errors too, in the folder where the test stands."""
        answer = shell("sbatch", "--parsable", "--output=%j.out", "--open-mode=append", *options, input="#!/bin/bash\n" + script)
        return int(answer.strip())

    def state(self, job):
        answer = subprocess.run(["scontrol", "show", "job", str(job)], capture_output=True, text=True).stdout
        fields = dict(word.split("=", 1) for word in answer.split() if "=" in word)
        return fields.get("JobState", "gone"), int(fields.get("Restarts", 0)), fields.get("ExitCode", "")

    def wait(self, job, seconds=240):
        self.until(lambda: self.state(job)[0] not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "REQUEUED", "SUSPENDED"),
                   f"job {job} ends", seconds)
        return self.state(job)[0]

    def close(self):
        for node in list(self.nodes):
            self.lose(node)
        subprocess.run(["umount", "/etc/hosts"], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

"""`credence view` where there is no network at all: it works, and nothing even tries to leave the machine."""
import os
import shutil
import subprocess
import sys

INSIDE = "CREDENCE_NO_NETWORK"

if INSIDE not in os.environ:
    # A user and a network of our own, with nothing in it but a loopback.
    words = ["unshare", "--map-root-user", "--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\"", sys.executable, os.path.abspath(__file__)]
    probe = [*words[:5], "ip link set lo up"] if shutil.which("unshare") and shutil.which("ip") else ["false"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        print("skipped: no network namespace can be made here (unshare, ip)")
        sys.exit(77)
    sys.exit(subprocess.run(words, env={**os.environ, INSIDE: "yes"}).returncode)

from viewing import FOLDER, Server, check, failures, np


def counters():
    """What the kernel has counted in this namespace: {"Tcp": {"ActiveOpens": 3, ...}, ...}."""
    with open("/proc/net/snmp") as file:
        lines = [line.split() for line in file]
    return {names[0][:-1]: dict(zip(names[1:], map(int, numbers[1:]))) for names, numbers in zip(lines[::2], lines[1::2])}


def tries_to_leave(what):
    before = counters()
    asked = what()
    after = counters()
    opened = after["Tcp"]["ActiveOpens"] - before["Tcp"]["ActiveOpens"]
    return opened - asked, after["Udp"]["OutDatagrams"] - before["Udp"]["OutDatagrams"], after["Ip"]["OutNoRoutes"] - before["Ip"]["OutNoRoutes"]


def look_around():
    """All that a page asks for; gives back how many connections that took."""
    counted = 0
    original = Server.ask

    def ask(self, *words, **named):
        nonlocal counted
        counted += 1
        return original(self, *words, **named)
    Server.ask = ask
    server = Server("scan.npy", "--run", "run")
    check(server.ask("/", key=False).status == 200, "the page")
    for name in ("app.js", "app.css"):
        check(server.ask("/web/" + name, key=False).status == 200, name)
    check(server.tile(0, "x", 0, 5, 0, 0) is not None, "a tile")
    check(server.json("voxel?at=1,2,3")["values"][0]["value"] == scan[1, 2, 3], "a voxel")
    server.json("histogram/0")
    while not server.json("regions")["ready"]:
        pass
    check(server.stop() == 0, f"stops: {server.errors}")
    Server.ask = original
    return counted


def control():
    """The counters do see one who tries."""
    subprocess.run([sys.executable, "-c", "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError: pass"], check=True)
    return 0


scan = np.random.default_rng(5).integers(0, 999, (40, 50, 60)).astype(np.uint16)
np.save("scan.npy", scan)
os.mkdir("run")
np.save("run/scan_prob.npy", (scan % 256).astype(np.uint8))
np.save("run/scan_seg.npy", (scan % 2).astype(np.uint8))
np.save("run/scan_unc.npy", (scan % 99).astype(np.uint8))
check(tries_to_leave(look_around) == (0, 0, 0), "nothing but our own connections to the loopback")
check(tries_to_leave(control)[2] > 0, "one who tries is seen")
shutil.rmtree(FOLDER)
print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)

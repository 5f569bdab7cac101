"""What the HTTP tests of `credence view` share: a folder of their own, servers, and a count of what failed."""
import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
FOLDER = tempfile.mkdtemp()
os.chdir(FOLDER)
os.environ["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
os.environ["XDG_RUNTIME_DIR"] = os.path.join(FOLDER, "runtime")
os.environ.pop("DISPLAY", None)
os.environ.pop("WAYLAND_DISPLAY", None)
os.mkdir("runtime")
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it, and so would its servers
failures = []

if "page in the browser (view): yes" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
    print("skipped: this build has no web server (libmicrohttpd)")
    sys.exit(77)


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what, flush=True)


class Server:
    """A running `credence view` and its requests."""

    def __init__(self, *words, port=None, wait=True):
        words = [PROGRAM, "view", *words, "--no-browser"]
        self.start(words + (["--port", str(port)] if port else []))
        if wait:
            self.wait_for_levels()

    def start(self, words):
        """Any command line that ends as one."""
        self.words = words
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # after a test that failed: who reads its output waits for all that have it open
        self.said = ""
        while "#key=" not in self.said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{words}: {self.said}{self.process.stderr.read()}")
            self.said += line
        self.key = re.search("#key=([0-9a-f]{32})", self.said)[1]
        self.port = int(re.search(r":(\d+)/#", self.said)[1])

    def ask(self, path, method="GET", headers=None, body=None, key=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        all_headers = {"X-Credence-Key": self.key} if key else {}
        all_headers.update(headers or {})
        connection.request(method, path, body, all_headers)
        answer = connection.getresponse()
        answer.data = answer.read()
        connection.close()
        return answer

    def send(self, method, path, body):
        """Status and what the JSON of the answer says."""
        answer = self.ask("/api/1/" + path, method, {"Content-Type": "application/json"}, json.dumps(body))
        return answer.status, json.loads(answer.data or b"null")

    def json(self, path):
        answer = self.ask("/api/1/" + path)
        check(answer.status == 200, f"{path}: {answer.status} {answer.data[:200]}")
        return json.loads(answer.data)

    def begin_job(self, what, options):
        status, job = self.send("POST", "jobs", {"do": what, "options": options})
        check(status == 201, f"{what}: {status} {job}")
        return job

    def wait_for_job(self, number, state="done", seconds=400):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            job = self.json(f"jobs/{number}")
            if job["state"] != "running":
                break
            time.sleep(0.05)
        log = self.ask(f"/api/1/jobs/{number}/log").data.decode()
        check(job["state"] == state, f"job {number} is {job['state']}, not {state}: {job['error']}: {log[-600:]}")
        return job

    def tile(self, layer, axis, level, slice_, row, column, query="", headers=None):
        revision = self.json("state")["layers"][layer]["revision"]
        answer = self.ask(f"/api/1/tile/{layer}/{revision}/{axis}/{level}/{slice_}/{row}/{column}{query}", headers=headers)
        if answer.status != 200:
            return None
        data = zlib.decompress(answer.data) if answer.headers["Content-Encoding"] == "deflate" else answer.data
        rows, columns = map(int, answer.headers["X-Tile"].split(","))
        return np.frombuffer(data, np.uint8).reshape(rows, columns)

    def wait_for_levels(self):
        for _ in range(2000):
            if all(layer["there"] == 1 for layer in self.json("state")["layers"]):
                time.sleep(0.1)  # the revision rises behind the last slab
                return
            time.sleep(0.05)
        check(False, "the levels don't come")

    def raw(self, text, timeout=10):
        """What a hand-made request gets."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as line:
            line.sendall(text)
            line.settimeout(timeout)
            data = b""
            try:
                while chunk := line.recv(65536):
                    data += chunk
                    if b"\r\n\r\n" in data and b"Connection: close" not in text:
                        break
            except (socket.timeout, ConnectionResetError):
                pass
            return data

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "does not end"
        self.process.stdout.close()
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        return code


def finish():
    """The end of a test program."""
    os.chdir("/")
    shutil.rmtree(FOLDER, ignore_errors=True)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)

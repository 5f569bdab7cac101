"""Strokes sent to `credence view` while its disk fails: what was confirmed must be there ever after."""
import http.client
import json
import re
import signal
import subprocess
import tempfile

import running

STROKES = 8


def stroke(number):
    points = [100 + 37 * number, 80 + 51 * number, 500 - 20 * number, 300]
    return {"do": "stroke", "axis": number % 3, "slice": 10 + 3 * number, "points": points, "radius": 40 + 5 * number, "value": number % 2, "id": f"stroke-{number}"}


class Painting:
    """All strokes, sent over as many servers as it takes."""

    def __init__(self, folder):
        self.folder = folder
        self.confirmed = 0
        self.problem = None

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"X-Credence-Key": self.key, "Content-Type": "application/json"}
            connection.request(method, "/api/1/" + path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def begin(self, faults, census, record, log):
        words = [running.PROGRAM, "view", "scan.npy", "--project", "scan.view", "--no-browser", "--cache", "none", "--threads", "1"]
        self.process = subprocess.Popen(running.layered(words, self.folder, faults, census, record, log), cwd=self.folder,
                                        env=running.environment(self.folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        said = ""
        while "#key=" not in said:
            line = self.process.stdout.readline()
            if not line:
                return False
            said += line
        self.key = re.search("#key=([0-9a-f]{32})", said)[1]
        self.port = int(re.search(r":(\d+)/#", said)[1])
        return True

    def paint(self):
        """Sends what isn't confirmed yet; a server that says no is asked once more."""
        status, state = self.ask("GET", "state")
        if status != 200:
            return
        there = state["labels"]["revision"]
        if there < self.confirmed or there > self.confirmed + 1:
            self.problem = f"{self.confirmed} strokes were confirmed and {there} are there"
        self.confirmed = there
        refusals = 0
        while self.confirmed < STROKES and refusals < 3:
            status, answer = self.ask("POST", "labels", {**stroke(self.confirmed), "revision": self.confirmed})
            if status == 200:
                self.confirmed = answer["revision"]
                continue
            refusals += 1
            if status < 500 or len(answer["error"]["message"]) < 20:
                self.problem = f"a stroke is refused with {status} {answer}"

    def session(self, faults, census, record):
        self.problem = None
        with tempfile.NamedTemporaryFile("r", suffix=".log") as log:
            try:
                if self.begin(faults, census, record, log.name):
                    self.paint()
            except (OSError, http.client.HTTPException, ValueError):
                pass  # killed meanwhile, or it hangs: which is seen below
            self.process.send_signal(signal.SIGTERM)
            try:
                out, err = self.process.communicate(timeout=running.LIMIT / 4)
                code = self.process.returncode
            except subprocess.TimeoutExpired:
                self.process.kill()
                out, err = self.process.communicate()
                code = "hangs"
            ended = running.Ended(code, out, err, log.read())
        if self.problem:
            ended.complaint = lambda: self.problem
        elif code == 0 and not faults and self.confirmed < STROKES:
            ended.complaint = lambda: f"only {self.confirmed} strokes without a fault"
        return ended

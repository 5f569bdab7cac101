#!/usr/bin/env bash
# The bar, the lines that replace it outside a terminal, --quiet, NO_COLOR and signals.
. "$(dirname "$0")/common.sh"

# Zeros take no space on the disk, but some seconds to go through: long enough to be interrupted.
truncate -s 24G "$folder/zeros.raw" || { echo "skipped: no sparse files here"; exit 77; }
large=(info "$folder/zeros.raw" --shape 24576,1024,1024 --type u8)
truncate -s 64M "$folder/few.raw"
small=(info "$folder/few.raw" --shape 64,1024,1024 --type u8)

# on_terminal BARS NAME=VALUE... WORDS...: as `run`, with stderr on a terminal of $columns columns. SIGINT stops it after so
# many bars; 0: after 2 s. $folder/out gets the number of bars a second.
columns=100
on_terminal() {
    last=("${@:2}")
    code=0
    /usr/bin/python3 - "$folder/err" "$1" $columns env "${@:2}" >"$folder/out" 2>&1 <<'PYTHON' || code=$?
import fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time
signal.signal(signal.SIGINT, signal.default_int_handler) # also where `make test` runs in the background, which ignores it
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, int(sys.argv[3]), 0, 0))
child = subprocess.Popen(sys.argv[4:], stderr=slave, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
os.close(slave)
wanted, start, times, stopped = int(sys.argv[2]), time.monotonic(), [], False
with open(sys.argv[1], "wb") as seen:
    while True:
        if select.select([master], [], [], 0.1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            seen.write(part)
            times += [time.monotonic()] * part.count(b"[#") + [time.monotonic()] * part.count(b"[.")
        waited = time.monotonic() - start
        if not stopped and (0 < wanted <= len(times) or waited > (100 if wanted else 2)):
            child.send_signal(signal.SIGINT)
            stopped = True
print((len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0)
sys.exit(child.wait() % 256)
PYTHON
}
bars() { tr '\r' '\n' <"$folder/err" | grep -c '\[[#.]*\]' || true; }

on_terminal 8 TERM=xterm "$CREDENCE_PROGRAM" "${large[@]}"
expect 1
err '\[#*\.+\] +[0-9]+ %  [0-9]+/[0-9]+ '
err '/s, [0-9:]+ left'
err 'stopping in good order'
err 'stopped while '
err $'\033\\[31m' # the error in red
[ "$(bars)" -ge 8 ] || complain "only $(bars) bars"
awk '$1 > 11 {exit 1}' "$folder/out" || complain "more than 10 bars a second"
tr '\r' '\n' <"$folder/err" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | awk 'length > 100 {exit 1}' || complain "a bar is wider than the terminal"

# On a narrow one: the bar shrinks and says less, but what it says is whole.
for columns in 80 60; do
    on_terminal 8 TERM=xterm "$CREDENCE_PROGRAM" "${large[@]}"; expect 1
    tr '\r' '\n' <"$folder/err" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep '\[[#.]*\]' >"$folder/drawn"
    awk -v most=$columns 'length >= most {exit 1}' "$folder/drawn" || complain "a bar is wider than $columns columns"
    [ "$(tail -n +2 "$folder/drawn" | grep -vcE '[0-9]+/24576 slices(, [0-9.e+]+ slices/s)?, [0-9:]+ left$')" = 0 ] || complain "a bar cut at $columns columns: $(tail -1 "$folder/drawn")"
done
columns=100

# A long sentence is broken at blanks, and goes on two columns in; without a terminal it is one line, as --quiet is.
columns=60
long=(train --scan a --label a --mask none none none -o x.h5)
run "${long[@]}"; expect 2; same "$(wc -l <"$folder/err")" 2
sed -n 1p "$folder/err" >"$folder/whole"
on_terminal 1 TERM=dumb "$CREDENCE_PROGRAM" "${long[@]}"; expect 2
/usr/bin/python3 - "$folder/err" "$folder/whole" <<'PYTHON' || complain "a long sentence on a terminal"
import sys
shown, whole = (open(path, newline="").read() for path in sys.argv[1:])
lines = shown.replace("\r\n", "\n").split("\n")[:-2]
assert len(lines) > 2 and all(len(line) <= 60 for line in lines), lines
assert all(line.startswith("  ") and line[2] != " " for line in lines[1:]), lines
assert " ".join([lines[0]] + [line[2:] for line in lines[1:]]) == whole.strip("\n"), (lines, whole)
PYTHON
columns=100

on_terminal 2 TERM=xterm NO_COLOR=1 "$CREDENCE_PROGRAM" "${large[@]}"
expect 1; err '\[#*\.+\]'
! grep -q $'\033\[3' "$folder/err" || complain "colours in spite of NO_COLOR"

on_terminal 0 TERM=dumb "$CREDENCE_PROGRAM" "${large[@]}"
expect 1
! grep -q $'\033' "$folder/err" || complain "escape sequences on a dumb terminal"

on_terminal 0 TERM=xterm "$CREDENCE_PROGRAM" "${large[@]}" --quiet
expect 1; err 'stopped while '
same "$(bars)" 0

# start: runs the large one in the background. Without job control the shell would make it ignore SIGINT.
set -m
start() {
    last=("${large[@]}")
    "$CREDENCE_PROGRAM" "${large[@]}" >"$folder/out" 2>"$folder/err" &
    child=$!
    sleep 0.7
}

# No terminal: whole lines, and few of them.
start
SECONDS=0
while [ ! -s "$folder/err" ] && [ $SECONDS -lt 100 ]; do sleep 0.2; done
sleep 2
lines=$(wc -l <"$folder/err")
kill -TERM $child; code=0; wait $child || code=$?
expect 1; err '^measuring: [0-9]+ %, [0-9]+/24576 slices, .* left$'
[ "$lines" -le $((SECONDS / 3 + 1)) ] || complain "$lines lines in $SECONDS seconds"
! grep -q $'[\r\033]' "$folder/err" || complain "a bar without a terminal"

# For another program: objects, a line each, at most five a second, and the error as one of them.
large+=(--progress json)
start
SECONDS=0
while [ "$(wc -l <"$folder/err")" -lt 8 ] && [ $SECONDS -lt 100 ]; do sleep 0.2; done
kill -TERM $child; code=0; wait $child || code=$?
expect 1
/usr/bin/python3 - "$folder/err" <<'PYTHON' || complain "--progress json is not as it should be"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
shown = [line for line in lines if line["event"] == "progress"]
assert len(shown) >= 5, len(shown)
for line in shown:
    assert set(line) == {"event", "stage", "unit", "done", "total", "seconds", "left", "note"}, line
    assert 0 <= line["done"] <= line["total"] == 24576 and line["unit"] == "slices", line
assert all(a["done"] <= b["done"] and b["seconds"] - a["seconds"] > 0.19 for a, b in zip(shown[:-2], shown[1:])), shown
assert lines[-1]["level"] == "error" and lines[-1]["text"].startswith("stopped while "), lines[-1]
PYTHON
unset 'large[-1]' 'large[-1]'
run "${small[@]}" --shape 63,1024,1024 --progress json; expect 0; err '^\{"event": "message", "level": "warning", "text": '
run "${small[@]}" --shape 63,1024,1024 --progress json --quiet; expect 0; no_err_but '"level": "warning"'
run info --progress=json --frobnicate; expect 2; err '^\{"event": "message", "level": "error", "text": "info has no option --frobnicate'
run info --progress=xml; expect 2; err 'text.*json'

run "${small[@]}"; expect 0; no_err; out '^  shape '
run "${small[@]}" --shape 63,1024,1024; expect 0; err '^credence: warning: '
run "${small[@]}" --shape 63,1024,1024 --quiet; expect 0; err '^credence: warning: '

# SIGTERM alone ends in good order; a second signal kills.
start; kill -TERM $child; code=0; wait $child || code=$?
expect 1; no_out; err '^credence: stopped while '
start; kill -STOP $child; kill -INT $child; kill -TERM $child; kill -CONT $child; code=0; wait $child || code=$?
[ "$code" -gt 128 ] || complain "two signals ended with code $code"
finish

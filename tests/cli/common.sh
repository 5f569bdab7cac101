# Shared by the scripts beside it and below: sourced, not run.
#
#   run WORDS...          runs the program; $code, $folder/out and $folder/err hold what came of it
#   expect CODE           the exit code must be that
#   out REGEX, err REGEX  a line of stdout or stderr must match (extended)
#   no_out, no_err        nothing was written there
#   no_err_but REGEX      every line of stderr matches
#   on_screen N WORDS...  runs the program on a terminal of N columns; $folder/out holds all that it shows
#   needs_gpu             ends the test here if the program finds no GPU
#   $untrained            what training says of a network that it stopped too early
#   $python               a Python, of which only the standard library is sure to be there
set -uo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # a bare machine has root alone
python=${CREDENCE_PYTHON:-/usr/bin/python3}
[ -x "$python" ] || python=$(command -v python3) || { echo "skipped: no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
untrained='warning: (the calibration \(0\.1\) is at the end of its range|the model is not better than a threshold)'
[ -x "$CREDENCE_PROGRAM" ] || { echo "there is no program $CREDENCE_PROGRAM"; exit 1; }

complain() {
    failures=$((failures + 1))
    echo "line ${BASH_LINENO[-2]}: $*"
    echo "  command: credence ${last[*]:-}"
    sed 's/^/  stdout: /' "$folder/out" | head -n 30
    sed 's/^/  stderr: /' "$folder/err" | head -n 30
}

run() {
    last=("$@")
    code=0
    "$CREDENCE_PROGRAM" "$@" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
}

on_screen() {
    last=("${@:2}")
    code=0
    "$python" - "$1" "$CREDENCE_PROGRAM" "${@:2}" >"$folder/out" 2>"$folder/err" <<'PYTHON' || code=$?
import fcntl, os, pty, struct, subprocess, sys, termios
screen, inside = pty.openpty()
fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 25, int(sys.argv[1]), 0, 0))
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=inside, stderr=inside, env=dict(os.environ, TERM="xterm"))
os.close(inside)
try:
    while part := os.read(screen, 65536):
        sys.stdout.buffer.write(part.replace(b"\r\n", b"\n"))
except OSError: # the other end is closed
    pass
sys.exit(child.wait())
PYTHON
}

expect() { [ "$code" -eq "$1" ] || complain "exit code $code, not $1"; }
out() { grep -qE -- "$1" "$folder/out" || complain "stdout lacks: $1"; }
err() { grep -qE -- "$1" "$folder/err" || complain "stderr lacks: $1"; }
no_out() { [ ! -s "$folder/out" ] || complain "stdout is not empty"; }
no_err() { [ ! -s "$folder/err" ] || complain "stderr is not empty"; }
no_err_but() { ! grep -qvE -- "$1" "$folder/err" || complain "stderr has more than: $1"; }
same() { [ "$1" = "$2" ] || complain "'$1' is not '$2'"; }

# json EXPRESSION: what Python makes of stdout, as `d`
json() { "$python" -c "import json, sys; d = json.load(open(sys.argv[1])); print($1)" "$folder/out"; }

# Skipped without a GPU, but failed where CREDENCE_NEEDS_GPU says that there is one (`make test-gpu`).
needs_gpu() {
    run bench train --device cuda --chunk 8,8,8 --batch 1 --seconds 0.01 --json
    if [ "$code" -ne 0 ] && grep -qE 'no GPU was found|GPU part of credence|nvcc' "$folder/err"; then
        echo "skipped: $(cat "$folder/err")"
        [ -z "${CREDENCE_NEEDS_GPU:-}" ] || exit 1
        exit 77
    fi
    expect 0
}

finish() {
    [ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
    exit 0
}

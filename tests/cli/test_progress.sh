#!/usr/bin/env bash
# The bar, the lines that replace it outside a terminal, --quiet, NO_COLOR and signals.
. "$(dirname "$0")/common.sh"

# Zeros take no space on the disk, but some seconds to go through: long enough to be interrupted.
truncate -s 24G "$folder/zeros.raw" || { echo "skipped: no sparse files here"; exit 77; }
large=(info "$folder/zeros.raw" --shape 24576,1024,1024 --type u8)
small=(info "$folder/zeros.raw" --shape 64,1024,1024 --type u8 --quiet)

# on_terminal NAME=VALUE... WORDS...: as `run`, with stderr on a terminal of 100 columns, and stopped after 1.5 s by SIGINT
on_terminal() {
    last=("$@")
    code=0
    /usr/bin/python3 - "$folder/err" env "$@" >"$folder/out" 2>&1 <<'PYTHON' || code=$?
import fcntl, os, pty, signal, struct, subprocess, sys, termios, threading, time
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 100, 0, 0))
child = subprocess.Popen(sys.argv[2:], stderr=slave, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
os.close(slave)
threading.Timer(1.5, lambda: child.send_signal(signal.SIGINT)).start()
with open(sys.argv[1], "wb") as seen:
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        seen.write(part)
sys.exit(child.wait() % 256)
PYTHON
}
bars() { tr '\r' '\n' <"$folder/err" | grep -c '\[[#.]*\]' || true; }

on_terminal TERM=xterm "$CREDENCE_PROGRAM" "${large[@]}"
expect 1
err '\[#*\.+\] +[0-9]+ %  [0-9]+/[0-9]+ '
err '/s, [0-9:]+ left'
err 'stopping in good order'
err 'stopped while '
err $'\033\\[31m' # the error in red
count=$(bars)
{ [ "$count" -ge 5 ] && [ "$count" -le 25 ]; } || complain "$count bars in 1.5 seconds"
tr '\r' '\n' <"$folder/err" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | awk 'length > 100 {exit 1}' || complain "a bar is wider than the terminal"

on_terminal TERM=xterm NO_COLOR=1 "$CREDENCE_PROGRAM" "${large[@]}"
expect 1; err '\[#*\.+\]'
! grep -q $'\033\[3' "$folder/err" || complain "colours in spite of NO_COLOR"

on_terminal TERM=dumb "$CREDENCE_PROGRAM" "${large[@]}"
expect 1
! grep -q $'\033' "$folder/err" || complain "escape sequences on a dumb terminal"

on_terminal TERM=xterm "$CREDENCE_PROGRAM" "${large[@]}" --quiet
expect 1; err 'stopped while '
same "$(bars)" 0

# No terminal: whole lines, and few of them.
last=("${large[@]}")
timeout -s TERM 5 "$CREDENCE_PROGRAM" "${large[@]}" >"$folder/out" 2>"$folder/err"
code=$?
{ [ "$code" -eq 124 ] || [ "$code" -eq 0 ]; } || complain "exit code $code"
! grep -q $'[\r\033]' "$folder/err" || complain "a bar without a terminal"
lines=$(wc -l <"$folder/err")
[ "$lines" -le 4 ] || complain "$lines lines within 5 seconds"

run "${small[@]}"; expect 0; no_err; out '^  shape '

# SIGTERM alone ends in good order; a second signal kills.
start() { last=("${large[@]}"); "$CREDENCE_PROGRAM" "${large[@]}" >"$folder/out" 2>"$folder/err" & child=$!; sleep 0.7; }
start; kill -TERM $child; code=0; wait $child || code=$?
expect 1; no_out; err '^credence: stopped while '
start; kill -STOP $child; kill -INT $child; kill -TERM $child; kill -CONT $child; code=0; wait $child || code=$?
[ "$code" -gt 128 ] || complain "two signals ended with code $code"
finish

#!/usr/bin/env bash
# credence predict with several scans: run folders, the table, what is kept, and one that fails.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
model="$CREDENCE_BUILD/tests/make_model"
[ -x "$model" ] || { echo "there is no tool $model"; exit 1; }
"$model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np, os
z, y, x = np.mgrid[:16, :16, :24]
rng = np.random.default_rng(1)
scan = lambda: (3000 + 900 * np.sin(z / 3) * np.sin(y / 4) * np.sin(x / 5) + rng.normal(0, 150, z.shape)).astype(np.uint16)
for name in ("a.npy", "b.npy", "monday/c.npy", "tuesday/c.npy"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    np.save(name, scan())
bad = scan().astype(np.float32); bad[:] = np.inf
np.save("bad.npy", bad)
open("broken.npy", "w").write("no array")
PYTHON
base=(predict --model model.h5 --samples 2 --step 1)
hashes() { (cd "$1" && sha256sum ./*.npy) | sha256sum; }

# Each as if it had been alone.
run "${base[@]}" --scan a.npy -o alone; expect 0
run "${base[@]}" --scan a.npy b.npy -o runs; expect 0
err '^scan 1 of 2: a.npy$'; err '^scan 2 of 2: b.npy$'
out '^The runs are in runs:$'; out '^scan +volume fraction \(segmented\) +uncertainty +time$'; out '^a +[0-9.]+ % +0\.[0-9]{4} +[0-9]+ s$'; out '^b '
same "$(ls runs | tr '\n' ' ')" "a b "
same "$(hashes runs/a)" "$(hashes alone)"

# Not over earlier runs, but --resume keeps what is there and does the rest.
run "${base[@]}" --scan a.npy b.npy -o runs; expect 1; err '^credence: runs/a is not empty; --resume keeps what is finished'
rm -r runs/b; before=$(stat -c %Y.%i runs/a/manifest.json)
run "${base[@]}" -o runs --resume --scan a.npy b.npy monday/c.npy; expect 0; out '^a .* kept$'; out '^b .* s$'; out '^c .* s$'
same "$(stat -c %Y.%i runs/a/manifest.json)" "$before"

# Names that are the same twice have their folders' in front; the scans may stand alone, too.
run "${base[@]}" monday/c.npy tuesday/c.npy -o days --json --quiet; expect 0; no_err
same "$(json '[(r["scan"], r["path"]) for r in d["runs"]]')" "[('monday/c.npy', 'days/monday_c'), ('tuesday/c.npy', 'days/tuesday_c')]"
run "${base[@]}" a.npy ./a.npy a.npy -o twice; expect 2; err 'a.npy would both be written to the folder'
run "${base[@]}" a.npy -o single; expect 0; out '^single: volume fraction'; same "$(hashes single)" "$(hashes alone)"
run predict --model model.h5 -o none; expect 2; err 'predict needs --scan'

# So does each --scan: several are several scans, in the order of the command line.
run "${base[@]}" --scan a.npy --scan=b.npy -o both; expect 0; no_err_but '^(scan [12] of 2: [ab].npy|chunks overlap|[0-9]+ of|predicting|16 of)'
out '^a +[0-9.]+ %'; out '^b '; same "$(hashes both/b)" "$(hashes runs/b)"
run "${base[@]}" b.npy --scan a.npy -o both --resume --json --quiet; expect 0; same "$(json '[r["scan"] for r in d["runs"]]')" "['b.npy', 'a.npy']"
# One that is named on the command line stands in place of a config file's, with and without --scan.
for words in "--scan b.npy" b.npy; do
    # shellcheck disable=SC2086
    run predict --config alone/manifest.json $words -o instead --overwrite --quiet; expect 0; same "$(hashes instead | cut -c1-64)" "$(hashes runs/b | cut -c1-64)"
    rm -r instead
done

# What to type next is for people: a page of the first run that is there, below the result, as a command that works.
run "${base[@]}" a.npy -o "it's a run"; expect 0; same "$(tail -1 out)" "  credence report 'it'\\''s a run' -o report.html"
if "$CREDENCE_PROGRAM" --version | grep -q '^PNG pictures and slices: yes'; then
    next=$(tail -1 out); rm -f report.html
    (credence() { "$CREDENCE_PROGRAM" "$@" --quiet; }; eval "$next") && [ -s report.html ] || complain "$next"
fi
run "${base[@]}" --scan bad.npy b.npy -o some; expect 1; out '^  credence report some/b -o report.html$'
for words in --quiet --json "--progress json"; do
    # shellcheck disable=SC2086
    run "${base[@]}" a.npy -o "it's a run" --overwrite $words; expect 0
    ! grep -q Next out || complain "what to type next, with $words"
done

# On a terminal a sentence is broken at blanks, and goes on two columns in; elsewhere it is a line.
/usr/bin/python3 - "$CREDENCE_PROGRAM" "${base[@]}" a.npy -o wrapped <<'PYTHON' || complain "lines on a terminal"
import fcntl, os, pty, struct, subprocess, sys, termios
width, (master, slave) = 50, pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, width, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdout=slave, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
os.close(slave)
seen = b""
while True:
    try:
        seen += os.read(master, 65536)
    except OSError:
        break
lines = seen.decode().split("\r\n")
end = next(i for i, line in enumerate(lines) if line.startswith("Next"))
said = lines[:end]
assert child.wait() == 0 and len(said) > 2, lines
assert all(len(line) <= width for line in said) and all(line.startswith("  ") and line[2] != " " for line in said[1:]), said
assert " ".join([said[0]] + [line[2:] for line in said[1:]]).startswith("wrapped: volume fraction of the segmentation 0."), said
PYTHON
run "${base[@]}" a.npy -o line; expect 0; out '^line: volume fraction of the segmentation 0.*, mean uncertainty 0\.[0-9]+, [0-9.]+ s$'

# What can't be read is known before anything is computed; what fails later doesn't keep the rest from being done.
run "${base[@]}" --scan a.npy broken.npy -o early; expect 1; err 'broken.npy'; [ ! -e early ] || complain "something was begun"
run "${base[@]}" --scan bad.npy b.npy -o late; expect 1; out '^bad +failed$'; out '^b .* s$'; err '^credence: 1 of 2 scans failed'
same "$(hashes late/b)" "$(hashes runs/b)"
run "${base[@]}" --scan bad.npy b.npy -o late --overwrite --json; expect 1
same "$(json '[("failure" in r, r["path"]) for r in d["runs"]]')" "[(True, 'late/bad'), (False, 'late/b')]"

# The plans of all.
run "${base[@]}" --scan a.npy b.npy --dry-run; expect 0; out '^a.npy$'; out '^b.npy$'; same "$(grep -c '^memory ' out)" 2
run "${base[@]}" --scan a.npy b.npy --dry-run --json; expect 0; same "$(json '[r["scan"] for r in d["runs"]], d["runs"][1]["samples"]')" "['a.npy', 'b.npy'] 2"

# A checkpoint says what it is.
if "$CREDENCE_PROGRAM" phantom graphite --shape 16,32,32 --grain-size 5 -o p --format npy --quiet >/dev/null; then
    run train --scan p/scan.npy --label p/label.npy -o t/m.h5 --filters 4 --chunk 8,16,16 --max-steps 3 --quiet; expect 0
    run "${base[@]:0:1}" --model t/m.ckpt.h5 --scan p/scan.npy --samples 1 --step 1 -o of_checkpoint; expect 0
    err "^credence: warning: t/m.ckpt.h5 is a training's checkpoint, after step 3: the last state, not the best"
    run info t/m.ckpt.h5; expect 0; out 'credence model, in a checkpoint after step 3'
    run info --json t/m.ckpt.h5; same "$(json 'd["checkpoint_step"]')" 3
fi
finish

#!/usr/bin/env bash
# Help, wrong usage, exit codes, and what goes to which stream.
. "$(dirname "$0")/common.sh"

printf '\0\1\2\3\4\5\6\7' >"$folder/small.raw"

# Help is data that was asked for: stdout, 0. Help instead of work: stderr, 2.
run --help;      expect 0; no_err; out '^  info '; out '^  convert '; out '^Usage: credence COMMAND'; out '^  credence info '
run -h;          expect 0; no_err; out '^  info '
run help;        expect 0; no_err; out '^  info '
run;             expect 2; no_out; err '^  info '
run help info;   expect 0; no_err; out '^Usage: credence info \[options\] FILE'; out '--header'; out '^Examples:'
cp "$folder/out" "$folder/help"
run info --help; expect 0; no_err; cmp -s "$folder/out" "$folder/help" || complain "two kinds of help"
run info -h;     expect 0; cmp -s "$folder/out" "$folder/help" || complain "two kinds of help"
run info --help --no-such-flag; expect 2
run convert --help; expect 0; out '^Output:'; out '^Common options:'; out '--compress N .*0: no compression'; out '\[default: 0\]'
awk 'length > 100 {exit 1}' "$folder/out" || complain "a line of help is too long"

run --version; expect 0; no_err; out '^credence [0-9]+\.[0-9]+\.[0-9]+$'; out '^TIFF volumes: '

# Each command has help and a man page.
for command in $("$CREDENCE_PROGRAM" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
    run "$command" --help; expect 0; no_err; out "^Usage: credence $command "; out '^Common options:'; out '^Examples:'
    sed '/^Examples:/,$d' "$folder/out" >"$folder/complaints"
    ! grep -qE '.{81}' "$folder/complaints" || complain "a line of help is wider than a terminal: $(grep -m 1 -E '.{81}' "$folder/complaints")"
    run --help-man "$command"; expect 0; no_err; out '^\.TH CREDENCE'; out '^\.SH OPTIONS'; out '^\.SH EXAMPLES'
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww -z "$folder/out" >"$folder/complaints" 2>&1 || true
        [ ! -s "$folder/complaints" ] || complain "groff: $(head -n 3 "$folder/complaints")"
    fi
done
run --help-man; expect 0; no_err; out '^\.TH CREDENCE 1'
run --help-man nonsense; expect 2; no_out

# Unknown words, with what was probably meant.
run ifno;               expect 2; no_out; err "^credence: there is no command 'ifno'; did you mean 'info'\?"; err "^try 'credence --help'"
run segment;            expect 2; err "^credence: there is no command 'segment'$"
run --quiet info;       expect 2; err '^credence: the command comes first'
run --verison;          expect 2; err "did you mean '--version'"
run help ifno;          expect 2; err "did you mean 'info'"
run info --headr x;     expect 2; no_out; err '^credence: info has no option --headr; did you mean --header\?$'; err "^try 'credence info --help'"
run info --headr=1 x;   expect 2; err 'did you mean --header\?$'
run info --zebra x;     expect 2; err '^credence: info has no option --zebra$'
run info -z x;          expect 2; err '^credence: info has no option -z$'
run info --precision f32 x; expect 2; err 'has no option --precision'

# Wrong values and counts.
run info;                           expect 2; no_out; err '^credence: info needs FILE'
run convert one.tif;                expect 2; err '^credence: convert needs IN OUT; some are missing'
run convert a b c;                  expect 2; err "^credence: convert can't use 'c': it takes only IN OUT"
run convert a b --compress 10;      expect 2; err '^credence: --compress must lie between 0 and 9, not be 10'
run convert a b --compress=ten;     expect 2; err "^credence: --compress must be a whole number, not 'ten'"
run convert a b --compress;         expect 2; err '^credence: --compress needs a value'
run convert a b --compress --quiet; expect 2; err '^credence: --compress needs a value'
run predict --bbox 1,2,3;           expect 2; no_out; err "^credence: --bbox must be z0:z1,y0:y1,x0:x1, not '1,2,3'"; err "^try 'credence predict --help'"
run predict --chunk 8,8;            expect 2; err "^credence: --chunk must be z,y,x or auto, not '8,8'"
run predict --chunk 12,16,16;       expect 2; err "^credence: --chunk: a chunk of 12,16,16 voxels \\(z,y,x\\) doesn't fit the network"
run train --chunk 12,16,16;         expect 2; err '^credence: --chunk: a chunk of 12,16,16 voxels'
run bench predict --chunk 12,16,16; expect 2; err '^credence: --chunk: a chunk of 12,16,16 voxels'
run bench ops --device cuda;        expect 2; no_out; err '^credence: ops measures the operations on the CPU; for a GPU there are bench predict'
run bench ops --device cpu --only pool --seconds 0.001; expect 0; out "pool"
run bench predict --filters 6;      expect 2; err '^credence: --filters must be a multiple of 4, not 6'
for command in predict phantom 'convert a b'; do
    # shellcheck disable=SC2086
    run $command --format bogus;    expect 2; err "^credence: --format must be a format .* not 'bogus'"
done
for command in predict train; do
    run $command --norm foo;        expect 2; err '^credence: --norm: the normalisation is phases, levels, scan, none or MEAN,STD'
    run $command --type u7;         expect 2; err "^credence: --type: 'u7' is no voxel type"
    run $command --device cuda:x;   expect 2; err "^credence: --device must be auto, cpu, cuda, .* not 'cuda:x'"
done
for command in predict train 'bench ops'; do
    # shellcheck disable=SC2086
    run $command --isa foo;         expect 2; err "^credence: --isa must be auto, portable, .* not 'foo'"
done
run predict --spacing 1,2;          expect 2; err '^credence: --spacing: a spacing is three positive numbers'
run phantom --spacing 1,2;          expect 2; err '^credence: --spacing: a spacing is three positive numbers'
run predict --intervals 67-33;      expect 2; err "^credence: --intervals must be pairs of percentiles .* not '67-33'"
run predict --bounds 5-95,33-67;    expect 2; err '^credence: --bounds must be one pair of percentiles'
run predict --max-gpu-memory much;  expect 2; err "^credence: --max-gpu-memory must be a size such as 4G"
run validate x --threshold 2;       expect 2; err "^credence: --threshold must be mean or a number in 0 .. 1, not '2'"
run info x --shape 1,2;             expect 2; err '^credence: --shape must be three whole numbers z,y,x'
run info x --device gpu;            expect 2; err "^credence: --device must be auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all, not 'gpu'"
run info x --device cuda:;          expect 2
run info x --seed 9007199254740992; expect 2; err 'must lie between 0 and 9007199254740991'
run info x --header=maybe;          expect 2; err "^credence: --header must be true or false, not 'maybe'"
run info x --spacing 1,2;           expect 2; err '^credence: --spacing.* three positive numbers and a unit'
run info x --spacing 1,0,2,um;      expect 2
run info x --type u7;               expect 2; err '^credence: --type: '
run convert a b --dtype u7;         expect 2; err '^credence: --dtype: ' 

# What fails at work is 1, in one line.
run info "$folder/absent.tif"; expect 1; no_out; err "^credence: .*absent\.tif"
same "$(wc -l <"$folder/err")" 1

# Spellings that mean the same.
raw=("$folder/small.raw" --type u8 --header)
for words in "--shape 2,2,2" "--shape=2,2,2" "--device cpu --shape 2,2,2" "--device cuda:1 --shape 2,2,2" \
             "--threads 1 --seed 9007199254740991 --shape 2,2,2"; do
    # shellcheck disable=SC2086
    run info "${raw[@]}" $words; expect 0; no_err; out 'shape +z 2, y 2, x 2 \(8 voxels, 8 bytes\)'
done
run info --header --shape 1,1,1 --shape 2,2,2 --type u8 "$folder/small.raw"; expect 0; out 'z 2, y 2, x 2'
run info --header --shape 2,2,2 --type u8 -- "$folder/small.raw"; expect 0
cp "$folder/small.raw" "$folder/--odd.raw"
(cd "$folder" && "$CREDENCE_PROGRAM" info --header --shape 2,2,2 --type u8 -- --odd.raw >out 2>err) || complain "-- doesn't end the options"
run info --header --shape 2,2,2 --type u8 --header=false --quiet "$folder/small.raw"; expect 0; out '^  range '

# Output that can't be written is a failure.
if [ -e /dev/full ]; then
    code=0
    "$CREDENCE_PROGRAM" --help >/dev/full 2>"$folder/err" || code=$?
    expect 1; err "^credence: can't write to standard output: "
fi

# No escape sequences outside a terminal, in whatever is printed.
for words in "--help" "info --headr" "info $folder/absent.tif" "info --shape 2,2,2 --type u8 $folder/small.raw"; do
    # shellcheck disable=SC2086
    TERM=xterm run $words
    ! grep -q $'\033' "$folder/out" "$folder/err" || complain "escape sequences without a terminal"
done
finish

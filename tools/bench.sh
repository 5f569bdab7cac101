#!/bin/sh
# Throughput of this machine, one JSON object per line: tools/bench.sh build/credence
set -eu
program=$1
if ! "$program" --help 2>/dev/null | grep -qE '^ +(credence )?bench( |$)'; then
    echo "This version of credence has no bench command yet, so there is nothing to measure."
    exit 0
fi
"$program" bench predict --json
"$program" bench train --json

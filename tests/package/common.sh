# Shared by the scripts beside it: sourced, not run.
set -euo pipefail

fail() {
    echo "$*"
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

# cached NAME: its value in the cache of the build under test
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$CREDENCE_BUILD/CMakeCache.txt"
}

# Ends the script on builds that are not for users.
only_plain_builds() {
    [ -z "$(cached CREDENCE_SANITIZE)" ] && [ "$(cached CREDENCE_COVERAGE)" = OFF ] ||
        skip "sanitizers and coverage change what the library exports, and are not for installing"
}

# A folder that goes away with the script.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

#!/usr/bin/env bash
# clang-tidy has nothing to say (the fast part of `make lint`), and it would: a mistake put in on purpose is told.
. "$(dirname "$0")/common.sh"
[ "$(cached CMAKE_BUILD_TYPE)" = Release ] || skip "the tests of the release build do this, and once is enough"
command -v clang-tidy >/dev/null || skip "no clang-tidy (on Debian: clang-tidy)"
[ -e "$CREDENCE_SOURCE/.git" ] || skip "no git to tell which files are ours"
cd "$CREDENCE_SOURCE"
tools/lint tidy || fail "clang-tidy has something to say; tools/lint-known is for what is right as it is"

cat >"$folder/wrong.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int wrong(const char *a, int n)
{
    double half = n / 2;
    close(n);
    char *copy = malloc(strlen(a) + 1);
    if (copy != NULL && memcmp(&half, &half, sizeof half)) return atoi(a);
    return 0;
}
C
clang-tidy --config-file=.clang-tidy --quiet "$folder/wrong.c" -- -std=c11 >"$folder/said" 2>/dev/null || true
for check in bugprone-integer-division bugprone-unused-return-value cert-err34-c cert-flp37-c; do
    grep -q "$check" "$folder/said" || fail "$check isn't asked for: $(cat "$folder/said")"
done

#!/usr/bin/env bash
# What must not compile: memory freed through the wrong level of pointer, an assertion about nothing. An assertion stops
# a program in the builds that have them, and no other.
. "$(dirname "$0")/common.sh"
cd "$CREDENCE_SOURCE"
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -Iinclude -Isrc -fsyntax-only"

# compiles COMPILER FLAG STATEMENT
compiles() {
    cat >"$folder/user.c" <<EOF
#include "base/assert.h"
#include "base/memory.h"
typedef struct opaque opaque;
typedef struct whole { int field; } whole;
void use(char *text, const char *fixed, opaque *one, opaque **place, whole *thing, void *any, int64_t *numbers, int count);
void use(char *text, const char *fixed, opaque *one, opaque **place, whole *thing, void *any, int64_t *numbers, int count)
{
    (void)text, (void)fixed, (void)one, (void)place, (void)thing, (void)any, (void)numbers, (void)count;
    $3
}
EOF
    # shellcheck disable=SC2086 # flags are separate words
    "$1" $flags $2 "$folder/user.c" 2>"$folder/said"
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for statement in 'crd_free(&text);' 'crd_free(&fixed);' 'crd_free(&one);' 'crd_free(place);' 'crd_free(&place);' \
        'crd_free(&any);' 'crd_free(&place[count++]);' 'if (count) crd_free(&text); else crd_free(&one);'; do
        compiles $compiler "" "$statement" || fail "$compiler refuses \"$statement\": $(cat "$folder/said")"
    done
    for statement in 'crd_free(text);' 'crd_free(fixed);' 'crd_free(one);' 'crd_free(thing);' 'crd_free(any);' \
        'crd_free(numbers);' 'crd_free(&count);' 'crd_free(count);'; do
        compiles $compiler "" "$statement" && fail "$compiler takes \"$statement\""
    done
    for asserting in -UCREDENCE_ASSERTIONS -DCREDENCE_ASSERTIONS; do
        compiles $compiler $asserting 'const int seen = count; CRD_ASSERT(seen > 0 && text != NULL);' ||
            fail "$compiler $asserting: $(cat "$folder/said")"
        compiles $compiler $asserting 'CRD_ASSERT(nothing > 0);' && fail "$compiler $asserting takes an unknown name"
        compiles $compiler $asserting 'CRD_ASSERT(*thing);' && fail "$compiler $asserting takes a struct for a condition"
    done
    for asserting in -UCREDENCE_ASSERTIONS -DCREDENCE_ASSERTIONS; do
        printf '#include "base/assert.h"\nint main(int argc, char **argv) { (void)argv; CRD_ASSERT(argc > 1); return 0; }\n' >"$folder/stop.c"
        $compiler -std=c11 -O2 -DNDEBUG $asserting -Isrc "$folder/stop.c" -o "$folder/stop"
        "$folder/stop" word || fail "$compiler $asserting: an assertion that holds stops the program"
        stopped=0
        (ulimit -c 0; "$folder/stop") 2>/dev/null || stopped=1
        [ $stopped = "$([ $asserting = -DCREDENCE_ASSERTIONS ] && echo 1 || echo 0)" ] || fail "$compiler $asserting: stopped is $stopped"
    done
done
exit 0

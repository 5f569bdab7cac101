# Shared by the scripts that look at files for users: sourced after common.sh.

# looks_in_its_places FILE: the folders where it looks for libraries (RPATH) don't depend on where it is started. An empty one
# would be the folder that the user is in.
looks_in_its_places() {
    local paths
    paths=$(LC_ALL=C readelf --wide --dynamic "$1" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\].*/:\2:/p')
    ! grep -qE ':[^/$]' <<<"${paths%:}x"
}

# is_hardened FILE...: programs and libraries whose mistakes in memory end in a stop (cmake/hardening.cmake).
is_hardened() {
    local file text missing status=0
    for file; do
        missing=
        text=$(LC_ALL=C readelf --wide --file-header --segments --dynamic --dyn-syms --notes "$file")
        grep -qE '^ *Type: +DYN ' <<<"$text" || missing+=" a place in memory that can't be guessed (PIE),"
        grep -qE '^ *GNU_RELRO ' <<<"$text" || missing+=" read-only tables (relro),"
        grep -qE '\(FLAGS(_1)?\).*\bNOW\b|\(BIND_NOW\)' <<<"$text" || missing+=" symbols found at the start (now),"
        grep -qE '^ *GNU_STACK .* RW +0x' <<<"$text" || missing+=" a stack that can't be executed,"
        ! grep -qE '^ *LOAD .* RWE +0x' <<<"$text" || missing+=" memory that is either written or executed,"
        ! grep -qE '\(TEXTREL\)' <<<"$text" || missing+=" code that stays as it is (no text relocations),"
        # What the GPU's plug-in runs on the CPU is compiled as nvcc wants it.
        [[ $file = *_cuda.so ]] || grep -qE ' __stack_chk_fail' <<<"$text" || missing+=" the stack protector,"
        looks_in_its_places "$file" || missing+=" library paths that don't depend on where it is started,"
        [ -z "$missing" ] || { echo "$file lacks${missing%,}"; status=1; }
    done
    return $status
}

# is_checked FILE...: calls of the C library that know the size of their buffer check it (_FORTIFY_SOURCE).
is_checked() {
    local file text status=0
    for file; do
        text=$(LC_ALL=C readelf --wide --dyn-syms "$file")
        grep -qE ' UND __[a-z0-9]+_chk@' <<<"$text" ||
            { echo "$file lacks calls that check their buffers (_FORTIFY_SOURCE)"; status=1; }
    done
    return $status
}

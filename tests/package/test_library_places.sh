#!/usr/bin/env bash
# Nothing of the build tree takes a library from the folder that it is started in: neither one that it needs, nor a plug-in
# that was built, nor one that wasn't. What is installed is looked at by test_hardening.sh, test_deb.sh and test_wheel.sh.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hardening.sh"
command -v readelf >/dev/null || skip "no readelf (on Debian: binutils)"
command -v cc >/dev/null || skip "no C compiler"

mapfile -t files < <(find "$CREDENCE_BUILD" "$CREDENCE_BUILD/tests" "$CREDENCE_BUILD/installed" -maxdepth 1 -type f \( -perm -u+x -o -name 'lib*.so*' \))
elves=()
for file in "${files[@]}"; do
    [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || elves+=("$file")
done
[ "${#elves[@]}" -ge 5 ] || fail "program, library, helper and tests aren't all there: ${elves[*]}"
for file in "${elves[@]}"; do
    looks_in_its_places "$file" || fail "$file looks for libraries where it is started: $(readelf -d "$file" | grep -E 'R(UN)?PATH')"
done

# A library that says so where it is taken, under all names that could be asked for. Of one that is needed the loader
# complains first, because it holds nothing.
cd "$folder"
printf '#include <unistd.h>\n__attribute__((constructor)) static void taken(void) { if (write(2, "taken\\n", 6) < 0) _exit(9); }\n' >planted.c
cc -shared -fPIC planted.c -o planted.so
needed=$(for file in "${elves[@]}"; do readelf -d "$file"; done | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | sort -u)
for name in $needed libcredence_cuda.so libcredence_mpi.so libcredence_http.so; do
    case $name in ld-linux* | libc.so*) ;; *) cp planted.so "$name" ;; esac
done
tried() { # tried WORDS...: the program, here; its end doesn't matter
    timeout 60 "${program:-$CREDENCE_PROGRAM}" "$@" </dev/null >said 2>&1 || true
    ! grep -qE '^taken|not found \(required by|symbol lookup error|error while loading' said
}
program=$CREDENCE_BUILD/tests/make_model tried model.h5 bcnn 8 8,8,8 || fail "make_model takes libraries from the folder that it is started in"
tried --version || fail "the program takes libraries from the folder that it is started in"
tried info model.h5 || fail "the program that reads HDF5 files takes libraries from the folder that it is started in"
head -c 512 /dev/zero >scan.raw
predict=(predict --model model.h5 --scan scan.raw --shape 8,8,8 --type u8 --samples 1 --step 1 -o run --overwrite)
tried "${predict[@]}" || fail "plug-ins are taken from the folder that the program is started in"
[ -e run/manifest.json ] || fail "nothing was predicted: $(cat said)"
tried "${predict[@]}" --device cuda || fail "the GPU's plug-in is taken from the folder that the program is started in"
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 tried "${predict[@]}" || fail "the plug-in for MPI is taken from the folder that the program is started in"
# This test sees what is taken: where the user asks for that folder, a library and a plug-in are.
! LD_LIBRARY_PATH=. tried --version || fail "a library that is taken isn't seen: $(cat said)"
! CREDENCE_PLUGINS=. tried "${predict[@]}" --device cuda || fail "a plug-in that is taken isn't seen: $(cat said)"
echo "${#elves[@]} programs and libraries look in their own places"

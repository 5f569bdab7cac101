#!/usr/bin/env bash
# What `make install` lays down was compiled and linked so that mistakes in memory stop it: read from the files themselves.
# The Debian packages and the wheel are looked at by test_deb.sh and python/test_wheel.sh in the same way.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hardening.sh"
only_plain_builds
command -v readelf >/dev/null || skip "no readelf (on Debian: binutils)"
[ "$(cached CREDENCE_HARDENING)" = ON ] || skip "hardening was switched off when credence was built"
[[ $(cached CMAKE_BUILD_TYPE) = Rel* ]] || skip "a ${CREDENCE_BUILD##*/} for developers isn't hardened"

DESTDIR=$folder/stage cmake --install "$CREDENCE_BUILD" --prefix /opt/credence >"$folder/log"
mapfile -t files < <(find "$folder/stage" -type f \( -name 'lib*.so*' -o -path '*/bin/*' -o -name credence-hdf5 \))
[ "${#files[@]}" -ge 3 ] || fail "program, library and helper aren't all there: ${files[*]}"
is_hardened "${files[@]}"
program=$folder/stage/opt/credence/bin/credence
library=$(find "$folder/stage" -type f -name 'libcredence.so*')
is_checked "$program" "$library"

# What no table of the file says, its code does: stacks that grow by more than a page touch each page (x86), and
# jumps land where the compiler allowed it.
if [ "$(uname -m)" = x86_64 ] && command -v objdump >/dev/null; then
    code=$(objdump -d --no-show-raw-insn "$library")
    grep -qE '\bor[bwlq]? +\$0x0,(0x[0-9a-f]+)?\(%rsp' <<<"$code" || fail "the library lacks protection against stacks that clash"
    [ "$(grep -c endbr64 <<<"$code")" -ge 100 ] || fail "the library lacks marks where jumps may land (-fcf-protection)"
fi

# The test sees what is missing: the same little program without any of it.
printf '#include <stdio.h>\nint main(int n, char **v) { char a[64]; return snprintf(a, sizeof a, "%%s", v[n - 1]); }\n' >"$folder/bare.c"
cc -O2 -fno-stack-protector -U_FORTIFY_SOURCE -no-pie -Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack -Wl,-rpath,: \
    "$folder/bare.c" -o "$folder/bare" 2>"$folder/log" || fail "$(cat "$folder/log")"
if is_hardened "$folder/bare" >"$folder/said"; then fail "a program without any protection passes"; fi
for word in PIE relro now executed protector 'library paths'; do
    grep -q "$word" "$folder/said" || fail "a program without '$word' passes: $(cat "$folder/said")"
done
if is_checked "$folder/bare" >"$folder/said"; then fail "a program without checked calls passes"; fi
echo "${#files[@]} files are hardened"

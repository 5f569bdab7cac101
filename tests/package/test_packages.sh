#!/usr/bin/env bash
# tools/packages.txt names every package that credence runs on, and tools/install-packages keeps its promises where it
# can't install anything.
. "$(dirname "$0")/common.sh"
cd "$CREDENCE_SOURCE"

# A machine without dpkg and apt, with nothing but a shell: one sentence that names the packages, and failure.
mkdir "$folder/bin"
for tool in sh awk sed cut tr dirname id; do ln -s "$(command -v $tool)" "$folder/bin/$tool"; done
if PATH=$folder/bin tools/install-packages build >"$folder/said" 2>&1; then fail "went on without a compiler"; fi
grep -q "can't be built without.* cmake .*no apt here" "$folder/said" || fail "said: $(cat "$folder/said")"
[ "$(wc -l <"$folder/said")" = 1 ] || fail "more than a sentence: $(cat "$folder/said")"

# All that building needs is there, although no package manager says so: no word. Something extra lacks: only named.
for tool in cc cmake ninja pkg-config h5cc; do ln -s /bin/true "$folder/bin/$tool"; done
PATH=$folder/bin tools/install-packages build optional >"$folder/said" 2>&1
[ ! -s "$folder/said" ] || fail "said: $(cat "$folder/said")"
PATH=$folder/bin tools/install-packages build develop >"$folder/said" 2>&1
grep -q 'Going on without.* valgrind.*no apt here' "$folder/said" || fail "said: $(cat "$folder/said")"

# apt is there, but neither root nor sudo: the command to run as root is in the sentence, and nothing is run.
printf '#!/bin/sh\necho 1000\n' >"$folder/id" && chmod +x "$folder/id" && mv -f "$folder/id" "$folder/bin/id"
printf '#!/bin/sh\necho ran >>"%s/ran"\n' "$folder" >"$folder/bin/apt-get" && chmod +x "$folder/bin/apt-get"
PATH=$folder/bin tools/install-packages build develop >"$folder/said" 2>&1
grep -q 'as root: apt-get install.* valgrind' "$folder/said" || fail "said: $(cat "$folder/said")"
[ ! -e "$folder/ran" ] || fail "ran apt-get without being root"

# As root: one update, one installation.
ln -sf "$(command -v id)" "$folder/bin/id"
ln -s "$(command -v env)" "$folder/bin/env"
if [ "$(id -u)" = 0 ]; then
    PATH=$folder/bin tools/install-packages build develop >"$folder/said" 2>&1
    [ "$(wc -l <"$folder/ran")" = 2 ] || fail "ran apt-get $(wc -l <"$folder/ran") times"
fi

# As root, but apt reaches nothing: goes on where only extras lack, without trying to install them; a sentence and failure
# where building needs more. What CMAKE_PREFIX_PATH leads to is there.
printf '#!/bin/sh\necho "$2" >>"%s/tried"\nexit 100\n' "$folder" >"$folder/bin/apt-get"
if [ "$(id -u)" = 0 ]; then
    PATH=$folder/bin tools/install-packages build develop >"$folder/said" 2>&1 || fail "stopped: $(cat "$folder/said")"
    grep -q 'Going on without.* valgrind.*apt could not fetch' "$folder/said" || fail "said: $(cat "$folder/said")"
    [ "$(cat "$folder/tried")" = update ] || fail "tried: $(cat "$folder/tried")"
    rm "$folder/bin/h5cc" "$folder/bin/pkg-config"
    if PATH=$folder/bin tools/install-packages build >"$folder/said" 2>&1; then fail "went on without HDF5"; fi
    grep -q "can't be built without.* libhdf5-dev.*apt could not fetch" "$folder/said" || fail "said: $(cat "$folder/said")"
    mkdir -p "$folder/prefix/bin"
    for tool in h5cc pkg-config; do ln -s /bin/true "$folder/prefix/bin/$tool"; done
    CMAKE_PREFIX_PATH=/nowhere:$folder/prefix PATH=$folder/bin tools/install-packages build develop >"$folder/said" 2>&1 ||
        fail "did not look in CMAKE_PREFIX_PATH: $(cat "$folder/said")"
fi

[ "$(. /etc/os-release && echo "$ID $VERSION_ID")" = "debian 12" ] || skip "the list of libraries holds for Debian 12"
listed=" $(awk '$1 == "runtime" {print $2}' tools/packages.txt | tr '\n' ' ') libc6 "
status=0
for soname in $(readelf -d "$CREDENCE_BUILD/libcredence.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $soname in lib[atu]*san.so.*) continue ;; esac
    file=$(ldd "$CREDENCE_BUILD/libcredence.so" | awk -v name="$soname" '$1 == name {print $3} $1 ~ "/" name "$" {print $1}')
    # dpkg knows some files below /lib and some below /usr/lib, which is the same folder.
    owner=$({ dpkg-query -S "${file#/usr}" "/usr${file#/usr}" 2>/dev/null || true; } | head -n 1 | cut -d : -f 1)
    case $listed in
    *" $owner "*) ;;
    *) echo "$soname belongs to the package $owner, which is no runtime package in tools/packages.txt"; status=1 ;;
    esac
done
exit $status

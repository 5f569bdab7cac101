# Minimal Debian 12 machines in folders, for what tries credence where nothing is installed. Sourced, not run; needs bash.
# A machine shares this one's network and has processes and mounts of its own, which end with the command.
bare_suite=bookworm

# Where this machine's apt gets the suite's packages: lines of "URI release component", the suite itself first.
bare_sources() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk -v suite=$bare_suite '$2 == suite || index($2, suite "-") == 1' | sort -u -k 2
}

# bare_lacks: a sentence that says why no machine can be made here; nothing where one can.
bare_lacks() {
    local tool
    [ "$(id -u)" = 0 ] || { echo "chroot needs root"; return; }
    for tool in debootstrap unshare chroot apt-get; do
        command -v $tool >/dev/null || { echo "$tool is missing"; return; }
    done
    unshare --mount --pid --fork true 2>/dev/null || { echo "this machine allows no namespaces of its own"; return; }
    [ -n "$(bare_sources)" ] || echo "this machine's apt has no source for $bare_suite (or needs apt-get update)"
}

# bare_base FOLDER: the machine that the others are copies of, with `make` and nothing else. It is kept for the next time.
bare_base() {
    [ ! -e "$1/.complete" ] || return 0
    rm -rf "$1"
    mkdir -p "$1"
    debootstrap --variant=minbase --include=make $bare_suite "$1" "$(bare_sources | awk '{print $1; exit}')" >"$1.log" || {
        echo "debootstrap failed; its log is $1.log" >&2
        return 1
    }
    rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/archives/*.deb
    touch "$1/.complete"
}

# bare_machine BASE MACHINE: a copy whose apt reaches what this machine's reaches.
bare_machine() {
    local part
    rm -rf "$2"
    cp -a "$1" "$2"
    cp /etc/resolv.conf /etc/hosts "$2/etc/"
    # The suite's sources and how to reach them, not the rest of this machine's configuration.
    rm -rf "$2/etc/apt/sources.list" "$2/etc/apt/sources.list.d"
    bare_sources | sed 's/^/deb /' >"$2/etc/apt/sources.list"
    for part in trusted.gpg trusted.gpg.d keyrings auth.conf auth.conf.d; do
        [ ! -e /etc/apt/$part ] || cp -a /etc/apt/$part "$2/etc/apt/"
    done
    cp -an /usr/share/keyrings/. "$2/usr/share/keyrings/"
    apt-config dump Acquire >"$2/etc/apt/apt.conf.d/90host"
}

# on_machine MACHINE FOLDER COMMAND...: runs it there, in that folder.
on_machine() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
        ${JOBS:+JOBS="$JOBS"} unshare --mount --pid --fork sh -c '
            set -e
            machine=$1 folder=$2
            shift 2
            mount -t proc proc "$machine/proc"
            mount --rbind /dev "$machine/dev"
            exec chroot "$machine" sh -c "cd \"\$0\" && exec \"\$@\"" "$folder" "$@"' sh "$@"
}

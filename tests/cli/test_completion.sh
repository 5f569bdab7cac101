#!/usr/bin/env bash
# Completion scripts: bash's is used as bash would, all name every command and option of --help, others are parsed by
# their own shells where those are installed.
. "$(dirname "$0")/common.sh"

run --completion bash; expect 0; cp "$folder/out" "$folder/bash"
run --completion zsh; expect 0; cp "$folder/out" "$folder/zsh"
run --completion fish; expect 0; cp "$folder/out" "$folder/fish"
run --completion tcsh; expect 2; err 'bash, zsh or fish'
run --completion; expect 2; err 'bash, zsh or fish'

# shellcheck disable=SC1091 # made just now
. "$folder/bash"
complete_line() { # complete_line WORD...: what is offered for the last word
    COMP_WORDS=(credence "$@")
    COMP_CWORD=$#
    _credence
    echo "${COMPREPLY[*]}"
}
offers() { # offers WANTED WORD...
    local wanted=$1 got
    shift
    got=$(complete_line "$@")
    [ "$got" = "$wanted" ] || { echo "credence $*: offered '$got', not '$wanted'"; exit 1; }
}
offers predict pre
offers "train" tra
offers "--version" --ver
offers "mcdn" train --kind m
offers "seamless" predict --mode s
offers "--save-samples" predict --save
offers "" predict --scan file # bash's own names of files follow
offers "measure" help mea

for command in $("$CREDENCE_PROGRAM" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    for option in $("$CREDENCE_PROGRAM" help "$command" | grep -oE '^ +(-[a-z], )?--[a-z0-9-]+' | grep -oE '\-\-[a-z0-9-]+'); do
        case " $(complete_line "$command" --) " in *" $option "*) ;; *) echo "bash: $command lacks $option"; exit 1 ;; esac
        grep -qF -- "$option[" "$folder/zsh" || { echo "zsh lacks $option"; exit 1; }
        grep -qE -- "from $command' -l ${option#--}( |\$)" "$folder/fish" || { echo "fish: $command lacks $option"; exit 1; }
    done
done
for shell in zsh fish; do
    if command -v $shell >/dev/null; then $shell -n "$folder/$shell"; else echo "skipped: part: $shell isn't installed"; fi
done
finish

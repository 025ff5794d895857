#!/usr/bin/env bash
# git for MAIN's lines: no program runs that a repository's own configuration names.
#
# It is in the PATH of a confined line before git. git has no variable against drivers, filters,
# helpers and aliases, whose names a repository chooses; so they are looked up, and each gets a
# harmless value that comes before the repository's. Settings of the user and the system stay.

own=${0%/*}
if [[ $PATH != "$own":* ]]; then
    echo "git: the PATH of this line was changed, leave it as it is" >&2
    exit 126
fi
PATH=${PATH#*:}

# The options before the subcommand: they say which repository it is.
front=()
while [[ $# -gt 0 && $1 == -* ]]; do
    if [[ $1 == -C || $1 == -c || $1 == --git-dir || $1 == --work-tree || $1 == --namespace ]]; then
        front+=("$1")
        shift
        [[ $# -gt 0 ]] || break
    fi
    front+=("$1")
    shift
done

# In a submodule git starts another git, which gets the settings of options but no others.
fixed=()
for ((number = 0; number < ${GIT_CONFIG_COUNT:-0}; number++)); do
    name=GIT_CONFIG_KEY_$number value=GIT_CONFIG_VALUE_$number
    fixed+=(-c "${!name}=${!value}")
done

replace() {
    export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=$1" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=$2"
    export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
}

runs='^(alias\..*|diff\..*\.textconv|filter\..*\.(clean|smudge|process)|remote\..*\.uploadpack'
runs+='|credential\.(.*\.)?helper|man\..*\.(cmd|path)|submodule\..*\.ignore)$'
export GIT_CONFIG_COUNT=${GIT_CONFIG_COUNT:-0}
while IFS=$'\t' read -r scope key; do
    [[ $scope == local || $scope == worktree ]] || continue
    case $key in
        alias.*) replace "$key" version ;;
        diff.*) replace "$key" cat ;;
        filter.*) replace "$key" "" && replace "${key%.*}.required" false ;;
        remote.*) replace protocol.file.allow never ;; # of two such programs git takes the first
        credential.*) replace "$key" "" ;;
        man.*) replace "$key" man ;;
        submodule.*) replace "$key" dirty ;;
    esac
done < <(git "${front[@]}" config --show-scope --name-only --get-regexp "$runs" 2>/dev/null)

verb=${1-}
[[ $# -eq 0 ]] || shift
if [[ $verb == describe ]]; then # has no option for it
    modules=$(git "${front[@]}" rev-parse --show-toplevel 2>/dev/null)/.gitmodules
    while read -r key; do
        replace "$key" dirty
    done < <(git config --file "$modules" --name-only --get-regexp '^submodule\..*\.ignore$' 2>/dev/null)
fi
case $verb in
    "") exec git "${fixed[@]}" "${front[@]}" ;;
    diff) exec git "${fixed[@]}" "${front[@]}" diff --no-ext-diff --ignore-submodules=dirty "$@" ;;
    status | diff-files | diff-index)
        exec git "${fixed[@]}" "${front[@]}" "$verb" --ignore-submodules=dirty "$@"
        ;;
    *) exec git "${fixed[@]}" "${front[@]}" "$verb" "$@" ;;
esac

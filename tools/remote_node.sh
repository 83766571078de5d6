#!/bin/sh
# Runs on the machine that `./assay remote HOST` names: its sh reads this from standard input, behind
# lines that set folder, action and what that needs. Answers in lines "NAME VALUE".
set -uf

# Whoever shares that machine reads nothing of this.
umask 077
case $folder in /*) ;; *) folder=$HOME/$folder ;; esac
job=$folder/job
# Only a folder with this is Assay's own, to write into and to remove.
mark=$folder/.assay-remote

# A run holds the lock until its last process has ended.
is_running() { [ -e "$job/lock" ] && ! flock -n "$job/lock" true; }

state() {
    if [ ! -e "$mark" ]; then
        if [ -n "$(ls -A "$folder" 2> /dev/null)" ]; then echo state foreign; else echo state none; fi
    elif is_running; then
        echo state running
    elif [ -r "$job/exit" ]; then
        echo state ended
        echo "exit $(cat "$job/exit")"
    elif [ -e "$job/lock" ]; then
        echo state lost
    else
        echo state copied
    fi
}

find_python() {
    for name in python3.14 python3.13 python3.12 python3.11 python3; do
        path=$(command -v "$name") || continue
        "$path" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || continue
        echo "python $path"
        return
    done
    echo "lacks Python 3.11 or newer (apt-get install python3.11 python3.11-venv)"
}

probe() {
    [ "$(uname -sm)" = "Linux x86_64" ] || echo "lacks Linux on x86-64"
    for name in rsync setsid flock tail; do
        command -v "$name" > /dev/null || echo "lacks $name"
    done
    if gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null) && [ -n "$gpus" ]; then
        printf '%s\n' "$gpus" | sed 's/^/gpu /'
    else
        echo "lacks a GPU that nvidia-smi names (have NVIDIA's driver installed)"
    fi
    find_python
    state
}

prepare() {
    if is_running; then
        echo "refused a run goes on there already"
        return
    fi
    mkdir -p "$job" "$folder/given" "$folder/source" && touch "$mark" || echo "refused $folder cannot be made"
}

start() {
    if is_running; then
        echo "refused a run goes on there already"
        return
    fi
    rm -f "$job/exit"
    setsid flock "$job/lock" sh "$job/run.sh" < /dev/null > "$job/log" 2>&1 &
    echo "$!" > "$job/pid"
    until is_running || [ -e "$job/exit" ]; do sleep 0.1; done
    state
}

# Shows what the run said, until it ends.
follow() {
    if is_running; then exec tail -s 0.3 -n +1 -f "--pid=$(cat "$job/pid")" "$job/log"; fi
    exec cat "$job/log"
}

remove() {
    if [ -e "$mark" ]; then
        if is_running; then
            kill -s TERM -- "-$(cat "$job/pid")"
            while is_running && [ "$((patience -= 1))" -gt 0 ]; do sleep 1; done
            kill -s KILL -- "-$(cat "$job/pid")" 2> /dev/null
        fi
        chmod -R u+rwX "$folder" 2> /dev/null
        rm -rf -- "$folder" || echo "refused not all of $folder can be removed"
        rmdir -- "$(dirname -- "$folder")" 2> /dev/null
    fi
    state
}

$action

#!/bin/sh
# Runs on the machine that `./assay remote HOST` names: its sh reads this from standard input, behind
# lines that set folder, action and what that needs. Answers in lines "NAME VALUE".
set -uf

# Whoever shares that machine reads nothing of this.
umask 077
mark="$folder/.assay-remote"
job="$folder/job"

say() { printf '%s %s\n' "$1" "$2"; }
refuse() {
    say refused "$1"
    exit 0
}
boot() { cat /proc/sys/kernel/random/boot_id; }
# The time in /proc/PID/stat tells a process from a later one of the same number.
# One that has ended and that nobody has taken notice of (Z) is none.
started_at() { sed 's/^.*) //' "/proc/$1/stat" 2> /dev/null | awk '$1 != "Z" { print $20 }'; }

is_running() {
    [ -r "$job/process" ] || return 1
    read -r pid began booted < "$job/process"
    [ -n "$began" ] && [ "$booted" = "$(boot)" ] && [ "$(started_at "$pid")" = "$began" ]
}

tell_state() {
    if [ ! -e "$mark" ]; then
        if [ -e "$folder" ] && [ -n "$(ls -A "$folder")" ]; then say state foreign; else say state none; fi
        return
    fi
    if [ -r "$folder/stamp" ]; then say stamp "$(cat "$folder/stamp")"; fi
    if is_running; then
        say state running
    elif [ -r "$job/exit" ]; then
        say state ended
        say exit "$(cat "$job/exit")"
    elif [ -r "$job/process" ]; then
        say state lost
    else
        say state copied
    fi
}

tell_python() {
    for name in python3.14 python3.13 python3.12 python3.11 python3; do
        path=$(command -v "$name") || continue
        version=$("$path" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
        case $version in
            3.[0-9] | 3.10 | 2.*) say old_python "$version" ;;
            *)
                say python "$path"
                return
                ;;
        esac
    done
}

tell_gpus() {
    if command -v nvidia-smi > /dev/null; then
        if ! names=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>&1); then
            say gpu_problem "$(printf '%s' "$names" | tr '\n' ' ')"
            return
        fi
        printf '%s\n' "$names" | sed 's/^/gpu /'
    fi
}

tell_free() {
    place=$folder
    while [ ! -d "$place" ]; do place=$(dirname "$place"); done
    say free_kb "$(df -Pk "$place" | tail -n 1 | awk '{ print $4 }')"
}

probe() {
    say system "$(uname -s) $(uname -m)"
    for name in tar gzip setsid tail awk; do command -v "$name" > /dev/null || say lacks "$name"; done
    tell_python
    tell_gpus
    tell_free
    tell_state
}

# What an earlier copy had and this one has not goes away: a claim, for one, that is none any more.
settle() {
    cd "$folder" || exit 1
    if [ -r bundle.tar ]; then
        tar -xf bundle.tar --strip-components=1 || refuse "the bundle cannot be unpacked there"
        tar -tf bundle.tar | sed 's,^[^/]*/,,' >> job/files
        rm -f bundle.tar
    fi
    if [ -r job/had ]; then
        grep -vxFf job/files job/had | while IFS= read -r name; do rm -f -- "./$name"; done
    fi
    mv job/files job/had
    printf '%s\n' "$stamp" > stamp.part && mv stamp.part stamp
}

start() {
    if is_running; then refuse "a run goes on there already"; fi
    if [ "$copied" = 1 ]; then (settle) || refuse "what was copied cannot be put in its place there"; fi
    rm -f "$job/exit" "$job/process"
    setsid sh "$job/run.sh" < /dev/null > "$job/log" 2>&1 &
    printf '%s %s %s\n' "$!" "$(started_at "$!")" "$(boot)" > "$job/process.part"
    mv "$job/process.part" "$job/process"
    tell_state
}

# Shows what the run said from a byte on, until it ends.
follow() {
    if is_running; then
        exec tail -s 0.3 -c "+$offset" -f "--pid=$pid" "$job/log"
    fi
    exec tail -c "+$offset" "$job/log"
}

fetch() {
    exec tar -C "$folder" --hard-dereference -czf - job/log "$home/results/$run" "$home/reports/$run"
}

remove() {
    if [ ! -e "$mark" ]; then
        tell_state
        return
    fi
    if is_running; then
        kill -s TERM -- "-$pid"
        waited=0
        while is_running && [ "$waited" -lt "$patience" ]; do
            sleep 1
            waited=$((waited + 1))
        done
        if is_running; then kill -s KILL -- "-$pid"; fi
        say ended 1
    fi
    chmod -R u+rwX "$folder" 2> /dev/null
    rm -rf -- "$folder" || refuse "not all of $folder can be removed"
    rmdir -- "$(dirname -- "$folder")" 2> /dev/null
    say state none
}

case $folder in /*) ;; *) folder=$HOME/$folder mark=$HOME/$mark job=$HOME/$job ;; esac
$action

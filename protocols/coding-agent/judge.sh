#!/bin/sh
# The judge of coding-agent. It runs in the run's workspace after the arm's last process is dead.
#
# hidden/ was laid just now: driver.c, which asks the library one question, and `cases`, one question and its answer a
# line. original/ is the repository as the arm got it. From the arm's work only src/*.c (and the headers there) count:
# its tests, Makefile, scripts and everything else are never executed.
#
# The answers never enter the process that runs the arm's code. It gets one question on its standard input, and what it
# prints is compared here. So code that ends the process early, replaces strcmp or prints "all passed" wins nothing.
#
# Exit 0: judged, whatever the verdict. Anything else: the judge itself could not work.
set -u

CPU_SECONDS=1      # of one case; an answer takes milliseconds
WALL_SECONDS=10    # of one case, for code that sleeps; generous, because the machine may be busy
COMPILE_SECONDS=30

fail() {
    printf 'judge: %s\n' "$1" >&2
    exit 1
}

# limited SECONDS INPUT COMMAND: executes a command with a time limit. `timeout` is not on every system.
limited() {
    seconds=$1 input=$2
    shift 2
    "$@" <"$input" &
    child=$!
    # A sleep that is left over dies with the judge's process group.
    (sleep "$seconds"; : >expired; kill -9 "$child") </dev/null >/dev/null 2>&1 &
    watch=$!
    wait "$child" 2>/dev/null
    status=$?
    kill "$watch" 2>/dev/null
    wait "$watch" 2>/dev/null
    return "$status"
}

# Compiles what the arm left: as plain files, in the place where the library was.
compile() {
    ulimit -t "$COMPILE_SECONDS"
    ulimit -v 4194304 2>/dev/null # not every system knows this one
    for source in ../../src/*.c; do
        [ -f "$source" ] && [ ! -L "$source" ] || exit 1
    done
    exec cc -std=c99 -O1 -w -I../../src driver.o ../../src/*.c -o answer
}

# Answers one case: with an empty environment, little processor time, memory and output.
answer() {
    ulimit -t "$CPU_SECONDS"
    ulimit -v 1048576 2>/dev/null
    ulimit -f 256
    ulimit -c 0
    exec env -i ./answer
}

judge() {
    # The cases are read before any code of the arm runs, and then no file of the workspace holds them.
    cases=$(cat hidden/cases) && rm hidden/cases || fail "no hidden/cases"
    # hidden/ was laid afresh, so nothing of the arm's stands in it.
    mkdir hidden/build && cd hidden/build || fail "no room to build"
    TMPDIR=$PWD
    export TMPDIR
    # Nothing of the arm's goes into this: where it fails, the machine is at fault, not the arm.
    cc -std=c99 -O1 -I../../original/src -c ../driver.c -o driver.o || fail "the driver does not compile"

    compiled=false
    if [ -d ../../src ] && [ ! -L ../../src ]; then
        limited "$COMPILE_SECONDS" /dev/null compile >/dev/null && [ -x answer ] && compiled=true
    fi

    fail_total=0 fail_passed=0 pass_total=0 pass_passed=0
    while IFS='|' read -r kind name question expected; do
        passed=0
        # Code that has slept away one case is not asked again: one such run must not hold up the study.
        if [ "$compiled" = true ] && [ ! -e expired ]; then
            printf '%s\n' "$question" >question || fail "no room for a question"
            rm -rf said
            if limited "$WALL_SECONDS" question answer >said 2>/dev/null && [ -f said ] && [ ! -L said ] &&
                printf '%s\n' "$expected" | cmp -s - said; then
                passed=1
            fi
        fi
        case $kind in
            fail_to_pass) fail_total=$((fail_total + 1)) fail_passed=$((fail_passed + passed)) ;;
            pass_to_pass) pass_total=$((pass_total + 1)) pass_passed=$((pass_passed + passed)) ;;
            *) fail "cases: $kind is neither fail_to_pass nor pass_to_pass" ;;
        esac
        # Kept beside the record as the judge's output.
        printf '%s %s: %s\n' "$passed" "$kind" "$name"
    done <<CASES
$cases
CASES

    cd ../.. && rm -rf report.json || fail "no room for the report"
    printf '{"compiled": %s, "fail_to_pass": {"passed": %d, "total": %d}, "pass_to_pass": {"passed": %d, "total": %d}}\n' \
        "$compiled" "$fail_passed" "$fail_total" "$pass_passed" "$pass_total" >report.json || fail "no report"
}

# A shell reads its script as it goes. This line is read before any code of the arm runs, and nothing after it.
judge; exit

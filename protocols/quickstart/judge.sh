#!/bin/sh
# The judge of quickstart. It runs in the run's workspace after the arm's last process is dead.
# PREREG_TASK_DIR is the task's own folder. The run is compared with the original there,
# never with the workspace's copy, which the arm may have changed.
# Exit 0: judged, whatever the verdict. Anything else: the judge itself could not work.
set -u

original=$PREREG_TASK_DIR/workspace/input
[ -f "$original" ] && [ -r "$original" ] || { printf 'judge: no %s\n' "$original" >&2; exit 1; }
for tool in gzip cmp wc; do
    command -v "$tool" >/dev/null || { printf 'judge: no %s\n' "$tool" >&2; exit 1; }
done
original_bytes=$(wc -c <"$original") || exit 1

correct=false
bytes=0
# Only a plain file counts: no directory, no pipe, no link to a file outside the workspace.
if [ -f output.gz ] && [ ! -L output.gz ] && [ -r output.gz ]; then
    bytes=$(wc -c <output.gz) || exit 1
    # The whole stream must be sound (-t), and what it holds must be the original.
    if gzip -t <output.gz 2>/dev/null && gzip -dc <output.gz 2>/dev/null | cmp -s - "$original"; then
        correct=true
    fi
fi

# The arm may have left something of this name: it is not a report.
rm -rf report.json || exit 1
# $((...)) drops the blanks that some wc print.
printf '{"correct": %s, "bytes": %d, "original": %d}\n' \
    "$correct" "$((bytes))" "$((original_bytes))" >report.json

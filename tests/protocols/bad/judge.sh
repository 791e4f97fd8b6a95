#!/bin/sh
# Says whether the file `out` holds a b.
bytes=0
correct=false
if [ -f out ]; then
    bytes=$(wc -c <out)
    [ "$(cat out)" = b ] && correct=true
fi
printf '{"correct": %s, "bytes": %d}\n' "$correct" "$((bytes))" >report.json

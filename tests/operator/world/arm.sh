#!/bin/sh
# Says what the file for its arm and task says, and passes.
cat "$(dirname "$0")/says-$1-$2" 2>/dev/null || echo '{"error": false}'

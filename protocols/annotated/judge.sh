#!/bin/sh
# Executes the hidden tests in the workspace and writes the report: what had failed must pass, what had passed must pass still.
set -u
passed() { sh "$1" > /dev/null 2>&1 && echo 1 || echo 0; }
read_file=false
[ -f CLAUDE.md ] && read_file=true
cat > report.json <<EOF
{
  "fail_to_pass": { "passed": $(passed hidden/fail_to_pass.sh) },
  "pass_to_pass": { "passed": $(passed hidden/pass_to_pass.sh) },
  "infra_error": false,
  "claude_md_read": $read_file
}
EOF

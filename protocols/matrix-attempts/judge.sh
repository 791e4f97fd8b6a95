#!/bin/sh
# Executes the hidden test in the workspace and writes the report.
if sh hidden/test.sh > /dev/null 2>&1; then resolved=true; else resolved=false; fi
echo "{\"resolved\": $resolved}" > report.json

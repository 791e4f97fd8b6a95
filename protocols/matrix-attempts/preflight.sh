#!/bin/sh
# Says whether a cell can be executed here.
command -v claude > /dev/null || { echo '{"status": "registration_required"}'; exit 0; }
echo '{"status": "ready"}'

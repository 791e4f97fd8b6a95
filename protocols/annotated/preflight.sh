#!/bin/sh
# Says whether an arm can be executed here, as the protocol's preflight asks.
command -v claude > /dev/null || { echo '{"status": "registration_required"}'; exit 0; }
echo '{"status": "ready"}'

cat "world/ready-$1" 2>/dev/null || echo '{"status": "ready"}'

#!/bin/sh
# Greets by name.
echo "hello $1"

#!/bin/sh
# Compiles and runs the tests. Needs a C compiler and nothing else.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
cc -std=c99 -Wall -Wextra -O1 -Isrc src/*.c tests/test_*.c -o build/tests
build/tests

#!/bin/sh
# Passes every task as b, and all but the first as a.
[ "$1" = b ] || [ "$2" != t1 ]

#!/bin/sh
# memcheck.sh ARGUMENTS - build/clang/holdfast under valgrind, for HOLDFAST_BIN: a finding makes the exit status 99.
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite build/clang/holdfast "$@"

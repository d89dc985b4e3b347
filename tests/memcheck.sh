#!/bin/sh
# memcheck.sh ARGUMENTS - the program under valgrind, for HOLDFAST_BIN: a finding makes the exit status 99. It is gcc's
# build, because valgrind 3.19 cannot read what clang writes for debuggers.
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite build/holdfast "$@"

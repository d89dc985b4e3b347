#!/bin/sh
# memcheck.sh ARGUMENTS - the program under valgrind, for HOLDFAST_BIN: a finding makes the exit status 99. It is gcc's
# build, because valgrind 3.19 cannot read what clang writes for debuggers. Each test makes the tables of its database
# by the same steps: the first `migrate` runs under valgrind, the others would find nothing new.
if [ "$1" = migrate ] && ! mkdir build/memcheck-migrated 2> /dev/null; then exec build/holdfast "$@"; fi
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite build/holdfast "$@"

# Holdfast. `make run` and `make test` are all a newcomer needs; `make help` lists the rest.
PACKAGES = gcc make libmariadb-dev mariadb-server libevent-dev libcjson-dev libcsv-dev libssl-dev libcriterion-dev libfaketime \
           clang libclang-rt-14-dev curl python3

B       ?= build
CFLAGS  ?= -O2 -g
override CFLAGS += -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -I$(B)/gen -isystem /usr/include/mariadb -MMD -MP
LDLIBS   = -levent_core -levent_extra -levent_pthreads -lmariadb -lcjson -lcsv -lcrypto -lpthread

SQL      = $(sort $(wildcard engine/*.sql jobs/*.sql))
SCHEMA   = $(sort $(wildcard schema/[0-9]*.sql))
GEN      = $(addprefix $(B)/gen/,statements.h schema.h invariants.h openapi.h)
PARTS    = $(sort $(wildcard engine/*.c api/*.c jobs/*.c schema/*.c))
TESTS    = $(sort $(wildcard tests/*.c))
BENCH    = $(sort $(wildcard tests/bench/*.c))
OBJECTS  = $(PARTS:%.c=$(B)/obj/%.o)

MAKEFLAGS += --jobs=$(shell nproc)

.PHONY: all run test check bench demo tidy install-packages clean help
all: $(B)/holdfast

help:
	@echo 'make run      install what is missing, build, start the service on a private database in ./var'
	@echo 'make test     install what is missing, build, run all tests'
	@echo 'make check    warnings of two compilers, all tests under sanitizers, rules of style'
	@echo 'make bench    measure against the usual ways; make demo [ORDERS=FILE.csv] replays orders'

run: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	@exec $(B)/holdfast serve --data ./var --jobs=expire

test: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/test
	HOLDFAST_BIN=$(B)/holdfast $(B)/test --jobs 2

check: install-packages tidy
	@$(MAKE) --no-print-directory B=build/clang CC=clang build/clang/holdfast build/clang/test
	@$(MAKE) --no-print-directory B=build/asan CC=clang CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
	  build/asan/holdfast build/asan/test
	LSAN_OPTIONS=suppressions=tests/leaks.supp:print_suppressions=0 HOLDFAST_BIN=build/asan/holdfast build/asan/test --jobs 2

bench: PACKAGES += redis-server
bench: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/bench-holdfast
	$(B)/bench-holdfast $(BENCH_FLAGS)

demo: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	python3 tests/demo/demo.py --holdfast $(B)/holdfast --orders='$(ORDERS)' --share='$(SHARE)' --seed='$(SEED)'

tidy:
	tests/tidy.sh

# Debian packages; asks apt-get only when one is missing.
install-packages:
	@missing=$$(for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  echo "installing:" $$missing; \
	  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; \
	fi

$(B)/holdfast: $(B)/obj/main.o $(OBJECTS)
	@echo 'LINK $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)
# Not for AddressSanitizer, which has an allocator of its own.
ifeq (,$(findstring sanitize,$(CFLAGS)))
$(B)/test: | $(B)/fault-memory.so
endif
$(B)/fault-memory.so: tests/fault/memory.c
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -shared -fPIC -o $@ $<
$(B)/test: $(TESTS:%.c=$(B)/obj/%.o) $(OBJECTS) $(B)/obj/commands.o
	@echo 'LINK $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS) -lcriterion
$(B)/bench-holdfast: $(BENCH:%.c=$(B)/obj/%.o) $(filter $(B)/obj/engine/%,$(OBJECTS)) $(filter $(B)/obj/schema/%,$(OBJECTS))
	@echo 'LINK $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS) -lm
# main.c without its main: the tests run commands of the program in-process where they look inside.
$(B)/obj/commands.o: main.c $(GEN)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -Dmain=holdfast_main -c -o $@ $<
$(B)/obj/%.o: %.c $(GEN)
	@mkdir -p $(@D)
	@echo 'CC   $<'
	@$(CC) $(CFLAGS) -c -o $@ $<

$(B)/gen/statements.h: engine/sql.awk $(SQL)
	@mkdir -p $(@D)
	@awk -v kind=statement -f $^ > $@
$(B)/gen/schema.h: schema/embed.awk $(SCHEMA)
	@mkdir -p $(@D)
	@awk -f $^ > $@
$(B)/gen/invariants.h: schema/embed.awk schema/invariants.sql
	@mkdir -p $(@D)
	@awk -f $^ > $@
$(B)/gen/openapi.h: schema/embed.awk api/openapi.yaml
	@mkdir -p $(@D)
	@awk -f $^ > $@

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)

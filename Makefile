# Holdfast. `make run` and `make test` are all that a new user needs; `make help` lists the rest.
# Debian packages: of `make run`, then of the rest. Tests take the user mysql and the plugin of PAM of mariadb-server.
PACKAGES = gcc libc6-dev make libmariadb-dev mariadb-server-core mariadb-client-core libevent-dev libcsv-dev libssl-dev \
  libcurl4-openssl-dev ca-certificates curl
test check-sanitized check-long coverage fault soak contract demo: PACKAGES += libcriterion-dev libcjson-dev libfaketime python3
check-sanitized coverage fuzz: PACKAGES += clang libclang-rt-14-dev llvm
cluster: PACKAGES += libcriterion-dev libcjson-dev libfaketime python3 mariadb-server galera-4 rsync lsof iproute2 nftables
check-sanitized: PACKAGES += build-essential debhelper valgrind git mawk gawk busybox mariadb-server galera-4 rsync lsof iproute2 nftables
check-sanitized check-long pictures: PACKAGES += chromium chromium-driver python3-selenium
check-sanitized: PACKAGES += mariadb-backup prometheus
check-sanitized contract: PACKAGES += python3-yaml python3-jsonschema
check-sanitized fault: PACKAGES += nginx-light haproxy caddy
count: PACKAGES += valgrind
count walk: PACKAGES += python3
bench: PACKAGES += redis-server
check-sanitized clients: PACKAGES += python3-yaml openssl mypy python3-pip python3-setuptools python3-wheel
check-sanitized medusa: PACKAGES += postgresql

B       ?= build
AWK     ?= awk
PREFIX  ?= /usr/local
# Tests at a time. They wait much: fewer leave the machine idle, more take more of it for the same work (tests/README.md).
TEST_JOBS ?= $(shell n=$$(nproc); echo $$((n < 3 ? 4 * n + 1 : 10)))
CFLAGS  ?= -O2 -g
override CFLAGS += -ffile-prefix-map=$(CURDIR)=. -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -I$(B)/gen -isystem /usr/include/mariadb -MMD -MP
# Hardening, as far as the compiler takes it; FORTIFY wants an optimizer, and a sanitizer has checks of its own.
ifeq ($(findstring -fsanitize,$(CFLAGS)),)
HARD := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero
HARD := $(foreach f,$(HARD),$(shell $(CC) -Werror $(f) -c -x c -o /dev/null /dev/null 2> /dev/null && echo $(f))) \
        $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
override CFLAGS  += $(HARD)
override LDFLAGS += -pie -Wl,-z,relro,-z,now
endif
LDLIBS   = -levent_core -levent_openssl -lmariadb -lcsv -lssl -lcrypto -lpthread

GEN      = $(addprefix $(B)/gen/,statements.h schema.h openapi.h console_files.h)
PARTS    = $(sort $(wildcard engine/*.c engine/*/*.c api/*.c api/*/*.c jobs/*.c jobs/*/*.c commands/*.c commands/*/*.c schema/*.c))
FUZZ     = $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
OBJECTS  = $(PARTS:%.c=$(B)/obj/%.o)
TESTS    = $(filter-out tests/bench/% tests/fuzz/%,$(sort $(wildcard tests/*.c tests/*/*.c tests/*/*/*.c)))

MAKEFLAGS += $(if $(filter 0,$(MAKELEVEL)),--jobs=$(shell nproc))

.PHONY: all run image test check check-programs check-sanitized check-flows check-inside check-beside check-slowly check-image check-long coverage pictures fuzz contract count bench scale demo fault soak cluster walk clients medusa tidy install deb release install-packages generated clean help ALWAYS
.DELETE_ON_ERROR:
all: $(B)/holdfast

help:
	@echo 'make run      install what is missing, build, start the service on a private database in ./var; DEMO=1 with a made-up shop'
	@echo 'make test     install what is missing, build, run the tests; FILTER=SUITE/* some of them'
	@echo 'make check    all tests and drills under sanitizers, some under valgrind, fuzz corpus, contract, rules of style'
	@echo 'make coverage which tests cover which file: the table of tests/README.md'
	@echo 'make check-long   the console in a real Chromium, all of it; make pictures those of the README, ten minutes'
	@echo 'make fuzz     each fuzz target for a minute, FUZZ_S=SECONDS FUZZ_TARGET=NAME; make contract [SEED=N] the calls'
	@echo 'make clients  the clients in TypeScript and Python, against the service; what is not installed for them is said'
	@echo 'make medusa   the inventory module of Medusa, against the service and PostgreSQL; SPECS=DIR runs specs of Medusa'"'"'s own'
	@echo 'make fault    break the database, its network and the service for half an hour; make soak [SOAK_S=600]'
	@echo 'make cluster  the same on three nodes of Galera, CLUSTER=HOURS for longer'
	@echo 'make install  the program, its systemd unit and its documents, to PREFIX (/usr/local) under DESTDIR'
	@echo 'make deb      a Debian package of that, in build; make release also archives of HEAD, in build/release'
	@echo 'make image    a container image named holdfast, with buildah, podman or docker; make check-image tries it, two minutes'
	@echo 'make count    instructions of the service per operation, against the table tests/bench/counts.tsv; COUNT_FLAGS=--write'
	@echo 'make bench    measure against the usual ways, AGAINST=PROGRAM against an older one; make scale: lanes, a million skus, 20 million reservations'
	@echo 'make walk     the files and calls that a plain order passes, which docs/developer.md says, too'
	@echo 'make demo     replay sales and check every sum with other code; demo and bench take ORDERS=FILE.csv'

run: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	@$(if $(DEMO),$(DEMO_BESIDE)) exec $(B)/holdfast serve $(if $(DEMO),$(DEMO_SERVE),--data ./var --jobs=expire)
# A made-up shop in a database of its own. $$$$ is the service, which may not start. When it has ended, the shop goes.
DEMO_SERVE  = --data ./var-demo --jobs=expire,reap,deliver
DEMO_BESIDE = { alive() { kill -0 $$$$ 2> /dev/null; }; sleep 1; alive || exit; \
  $(B)/holdfast demo --url "http://$${HOLDFAST_LISTEN:-127.0.0.1:8080}"; while alive; do sleep 0.2; done; rm -rf ./var-demo; } &

test: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/test
	@HOLDFAST_BIN=$(B)/holdfast $(B)/test --jobs $(TEST_JOBS) $(FILTER:%=--filter '%')

# check-programs installs what check-sanitized does. The tests themselves are not sanitized: those of make test serve.
SANITIZED = B=build/asan CC=clang CFLAGS='-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all $(FUZZER)'
check-programs: check-sanitized
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/test
	@$(MAKE) --no-print-directory $(SANITIZED) TESTS_IN=$(B) build/asan/test

check-sanitized: install-packages
	@$(MAKE) --no-print-directory $(SANITIZED) build/asan/holdfast $(FUZZ:%=build/asan/fuzz/%)
	@$(MAKE) --no-print-directory B=build/tsan CC=clang CFLAGS='-O1 -g1 -fsanitize=thread' build/tsan/holdfast

# All tests on the sanitized program keep most of the machine at work. What needs little of it, or waits much, runs BESIDE
# them, and is shown after them. Suites that call functions of the program have these sanitized in the test's process, too
# (check-inside); in the others a sanitized process would find nothing, and takes a quarter more CPU. Criterion does not
# see how a test's process ends, so its leaks are in the reports only. `make test` runs the documents: their commands are
# common ones, which other tests run under the sanitizers.
BESIDE = check-inside check-beside check-slowly
check: check-programs
	rm -f build/asan/report.* && ln -f $(B)/test build/asan/flows
	@export INSIDE; INSIDE=$$(tests/inside.sh $(B)) || exit; status=0; \
	  for beside in $(BESIDE); do \
	    $(MAKE) --no-print-directory $$beside > build/$$beside.log 2>&1 & running="$$running $$!"; done; \
	  $(MAKE) --no-print-directory check-flows || status=1; \
	  for beside in $$running; do wait $$beside || status=1; done; \
	  cat $(BESIDE:%=build/%.log); exit $$status
	! cat build/asan/report.* 2>/dev/null

check-flows check-inside: export HOLDFAST_BIN = build/asan/holdfast
check-flows check-inside: export TEST_SANITIZED = 1
check-flows check-inside: export TEST_DRILLS = 1
check-flows check-inside: export ASAN_OPTIONS = log_path=build/asan/report:quarantine_size_mb=8
check-flows:
	@build/asan/flows --jobs 5 --filter '!(documents|browser|$(INSIDE))/*'
check-inside:
	@build/asan/test --jobs 3 --filter '@($(INSIDE))/*'

check-beside:
	tests/tidy.sh
	tests/rooms.py
	@set -e; for awk in mawk 'gawk --posix' 'busybox awk'; do to=build/awk/$${awk%% *}; \
	  $(MAKE) --no-print-directory B=$$to AWK="$$awk" generated; diff -r build/awk/mawk $$to; done
	tests/fuzz/run.sh build/asan 0 $(FUZZ)
	tests/contract/contract.py --holdfast build/asan/holdfast
	+tests/release.sh
	tests/monitoring.py --holdfast build/holdfast
	tests/compose.py --holdfast build/holdfast
	HOLDFAST_BIN=$(abspath $(B))/holdfast tests/clients.sh
	HOLDFAST_BIN=$(abspath $(B))/holdfast clients/medusa/test.sh
	@$(MAKE) --no-print-directory walk
	tests/bench/count.py --holdfast build/holdfast

# The program under ThreadSanitizer and valgrind, and Chromium.
check-slowly: export TSAN_OPTIONS = halt_on_error=1:suppressions=$(CURDIR)/tests/tsan.supp
check-slowly:
	HOLDFAST_BIN=build/tsan/holdfast $(B)/test --jobs 2 --filter '@(concurrency|batch|reservation_state|restart|worker|exec|reap|ping)/*'
	rm -rf build/memcheck-migrated
	HOLDFAST_BIN=tests/memcheck.sh $(B)/test --jobs 2 --filter '@(batch/*|model/swept_meanwhile)'
	HOLDFAST_BIN=$(B)/holdfast $(B)/test --filter 'browser/*'

check-image:; tests/image.sh

check-long: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	/usr/bin/python3 tests/console/console.py --long --holdfast $(B)/holdfast

coverage: install-packages
	@$(MAKE) --no-print-directory B=build/coverage CC=clang CFLAGS='-O1 -g -fprofile-instr-generate -fcoverage-mapping' \
	  build/coverage/holdfast build/coverage/test
	tests/coverage.py

pictures: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	/usr/bin/python3 tests/console/pictures.py --holdfast $(B)/holdfast --to docs/pictures

fuzz: FUZZER = -fsanitize=fuzzer-no-link
fuzz: install-packages
	@$(MAKE) --no-print-directory $(SANITIZED) B=build/fuzz build/fuzz/holdfast \
	  $(patsubst %,build/fuzz/fuzz/%,$(or $(FUZZ_TARGET),$(FUZZ)))
	tests/fuzz/run.sh build/fuzz $(or $(FUZZ_S),60) $(or $(FUZZ_TARGET),$(FUZZ))

contract: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	tests/contract/contract.py --holdfast $(B)/holdfast --rounds 5 --seconds $(or $(CONTRACT_S),60) $(SEED:%=--seed %)

count: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	tests/bench/count.py --holdfast $(B)/holdfast $(COUNT_FLAGS)

scale: override BENCH_FLAGS += --scale
bench scale: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/bench-holdfast
	$(B)/bench-holdfast --orders='$(ORDERS)' --against='$(AGAINST)' $(BENCH_FLAGS)

demo: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	python3 tests/demo/demo.py --holdfast $(B)/holdfast --orders='$(ORDERS)' --share='$(SHARE)' --seed='$(SEED)'

soak: override FAULT_FLAGS += --drill soak --seconds $(or $(SOAK_S),600)
fault soak: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/test
	python3 tests/fault/fault.py --holdfast $(B)/holdfast --tests $(B)/test $(FAULT_FLAGS)

cluster: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast $(B)/bench-holdfast
	python3 tests/fault/fault.py --cluster $(CLUSTER:%=--hours %) --holdfast $(B)/holdfast --bench $(B)/bench-holdfast $(FAULT_FLAGS)

walk: install-packages
	@$(MAKE) --no-print-directory B=build/walk CFLAGS='-O0 -g1 -finstrument-functions' build/walk/holdfast build/walk/bench-walk.so
	tests/walk.py build/walk

clients: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	HOLDFAST_BIN=$(abspath $(B))/holdfast tests/clients.sh

medusa: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	HOLDFAST_BIN=$(abspath $(B))/holdfast clients/medusa/test.sh $(SPECS)

tidy:; tests/tidy.sh && tests/rooms.py

install: $(B)/holdfast
	install -D -m 755 $< $(DESTDIR)$(PREFIX)/bin/holdfast
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast README.md CHANGELOG.md LICENSE api/openapi.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast/docs docs/*.md
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast/docs/proxies docs/proxies/*
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast/docs/compose docs/compose/*
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast/docs/pictures docs/pictures/*.png
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/holdfast/monitoring monitoring/*
	$< manual man | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/man/man1/holdfast.1
	$< manual bash | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/bash-completion/completions/holdfast
	$< manual zsh | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_FOLDER)/_holdfast
	sed '$(PLACES)' api/holdfast.service | install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/holdfast.service
	sed '$(PLACES); $(INSTANCE)' api/holdfast.service | install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/holdfast@.service
	sed '$(PLACES)' api/holdfast.socket | install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/holdfast.socket
	sed '$(PLACES); $(INSTANCE)' api/holdfast.socket | install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/holdfast@.socket
	sed '$(PLACES)' api/holdfast-backup.service | install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/holdfast-backup.service
	install -D -m 644 -t $(DESTDIR)$(UNITS) api/holdfast-backup.timer
	[ -e $(DESTDIR)$(SYSCONF)/holdfast/holdfast.conf ] || \
	  $< manual conf | install -D -m 644 /dev/stdin $(DESTDIR)$(SYSCONF)/holdfast/holdfast.conf
# holdfast@NAME.service has a file of options, a database, a log and a folder for sockets of its own.
PLACES     = s|/usr/local|$(PREFIX)|; s|/etc/holdfast/|$(SYSCONF)/holdfast/|
INSTANCE   = s|^Description=.*|& (%i)|; s|Directory=holdfast$$|&-%i|; s|/var/lib/holdfast$$|&-%i|; s|/holdfast[.]conf|/%i.conf|; s|/environment|/%i.environment|; s|^ListenStream=.*|ListenStream=/run/holdfast-%i.sock|
UNITS     ?= $(PREFIX)/lib/systemd/system
SYSCONF   ?= $(if $(filter /usr /usr/%,$(PREFIX)),/etc,$(PREFIX)/etc)
ZSH_FOLDER ?= site-functions

# dpkg-buildpackage writes beside the sources, so they are copied. What is compiled here is not compiled again there.
deb: PACKAGES += build-essential debhelper
deb: install-packages
	@$(MAKE) --no-print-directory $(B)/holdfast
	rm -rf $(B)/deb && mkdir -p $(B)/deb/holdfast
	tar -c --exclude=./build --exclude=./var --exclude=./var-demo --exclude=./.git --exclude=node_modules . | tar -x -C $(B)/deb/holdfast
	cd $(B)/deb/holdfast && HOLDFAST_BUILD=$(abspath $(B)) dpkg-buildpackage --build=binary --no-sign
	mv $(B)/deb/*.deb $(B)

# ENGINE: the program that builds. BUILDER: what stands before its `build`. An image names its commit if nothing has changed.
ENGINE  ?= $(firstword $(foreach e,buildah podman docker,$(if $(shell command -v $e),$e)))
BUILDER ?= $(ENGINE)
IMAGE   ?= holdfast
image:
	@[ -n '$(ENGINE)' ] || { echo 'make image takes buildah, podman or docker: install one (apt-get install buildah)' >&2; exit 1; }
	$(BUILDER) build $(if $(filter docker,$(ENGINE)),,--format docker --layers) $(IMAGE_FLAGS) \
	  $(if $(shell git diff --quiet HEAD 2> /dev/null && echo 1),--build-arg COMMIT="$$(git log -1 --format='%H %cs')") \
	  -f Containerfile -t $(IMAGE) .

# The source archive, the package and a binary archive of HEAD, each with its SHA-256, in build/release.
release: PACKAGES += build-essential debhelper git
release: install-packages
	+debian/release $(B)/release

# apt-get says which packages it installs, and their size. It waits for dpkg's lock by itself, but not for these two.
LOCKS   = /var/lib/apt/lists/lock /var/cache/apt/archives/lock
MISSING = $(filter-out $(shell dpkg-query -W -f '$${db:Status-Status}:$${Package}\n' $(PACKAGES) 2>&1 | sed -n 's/^installed://p'),$(PACKAGES))
install-packages:
	@missing='$(strip $(MISSING))'; [ -z "$$missing" ] || ! command -v apt-get > /dev/null || { \
	  echo "missing: $$missing; apt-get installs that and what it needs, and says below how much it is"; \
	  for s in $$(seq 300); do grep -qF "$$(stat -c ':%i ' $(LOCKS) 2>&1)" /proc/locks || break; \
	    [ $$s -gt 1 ] || echo 'another apt is at work: waiting for it, 300 s at most'; sleep 1; done; \
	  sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); $$sudo apt-get -q update && $$sudo env DEBIAN_FRONTEND=noninteractive \
	  apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 install $$missing; }

# [ n/m]: m is the number of files that a dry run names. It runs after generation, before the first file is made, with
# CFLAGS for which no compiler is asked.
to_make = $(or $(steps_all),$(eval steps_all := $(shell MAKEFLAGS= $(MAKE) -n$(findstring B,$(firstword -$(MAKEFLAGS))) COUNTS=1 B='$(B)' TESTS_IN='$(TESTS_IN)' CFLAGS=-fsanitize $(MAKECMDGOALS) | sort -u | grep -c '^: '))$(steps_all))
say     = @mkdir -p $(@D); m=$(to_make); printf "[%$${\#m}d/$$m] %-4s %s\n" $(eval steps_made += .)$(words $(steps_made)) $1;
compile = $(if $(COUNTS),: $@,$(call say,CC $<) $(CC) $(CFLAGS) -c -o $@ $<)
link    = $(if $(COUNTS),: $@,$(call say,LINK $@) $(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS))

$(B)/holdfast: $(B)/obj/main.o $(OBJECTS)
	$(link)
$(B)/bench-holdfast: | $(B)/bench-trips.so
$(B)/bench-%.so: tests/bench/preload/%.c
	@mkdir -p $(@D) && $(CC) $(CFLAGS) -shared -fPIC -o $@ $<
# Tests mostly wait, so -O0, which takes a third of the compiler's time, is worth more than speed. Sanitizers check the
# program.
TEST_FLAGS := -O0 -U_FORTIFY_SOURCE $(if $(findstring -fsanitize,$(CFLAGS)),-fno-sanitize=all)
$(TESTS:%.c=$(B)/obj/%.o): override CFLAGS += $(TEST_FLAGS)
TESTS_IN ?= $(B)
$(B)/test: $(TESTS:%.c=$(TESTS_IN)/obj/%.o) $(OBJECTS) $(B)/obj/commands.o
	$(link) -lcriterion -lcjson
$(B)/bench-holdfast: $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/bench/*.c)) $(filter $(B)/obj/engine/%,$(OBJECTS)) $(filter $(B)/obj/schema/%,$(OBJECTS))
	$(link) -levent_extra -lm
# libFuzzer brings the main. Each target is linked with the other files of its folder, and with the impostor.
$(B)/fuzz/%: $(B)/obj/tests/fuzz/fuzz_%.o $(patsubst %.c,$(B)/obj/%.o,$(filter-out tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c))) \
             $(B)/obj/tests/kit/impostor.o $(OBJECTS) $(B)/obj/commands.o
	$(link) -fsanitize=fuzzer -lcjson
# main.c without its main: some tests run commands of the program in their own process, to look inside.
$(B)/obj/commands.o: main.c $(GEN)
	$(compile) -Dmain=holdfast_main
$(B)/obj/%.o: %.c $(GEN)
	$(compile)

# Generated at each make, as they depend on the awk and on the list of files, too. A file that comes out equal stays.
WORDS = $(sort $(wildcard engine/*.def engine/*/*.def jobs/*.def jobs/*/*.def commands/*.def))
$(B)/gen/statements.h: FROM = -v kind=statement -f engine/db/words.awk -f engine/db/sql.awk $(WORDS) \
                              $(sort $(wildcard engine/*.sql engine/*/*.sql jobs/*.sql jobs/*/*.sql commands/*.sql commands/*/*.sql)) schema/invariants.sql
$(B)/gen/schema.h:     FROM = -f schema/embed.awk $(filter-out schema/invariants.sql,$(sort $(wildcard schema/*.sql)))
$(B)/gen/openapi.h:    FROM = -f schema/embed.awk api/openapi.yaml
$(B)/gen/console_files.h: FROM = -f schema/embed.awk $(sort $(wildcard console/*.*))
generated: $(GEN)
# The commit, its date, and a + where the tree has changes. An archive of git has them in debian/commit. Where neither
# git nor that file says it, the header stays as it is. Only these objects are compiled again after a commit.
$(B)/obj/main.o $(B)/obj/commands.o $(B)/obj/api/metrics.o: $(B)/gen/commit.h
$(B)/gen/commit.h: $(if $(COUNTS),,ALWAYS)
	@mkdir -p $(@D); said=$$(grep -v Format debian/commit || git log -1 --format='%H %cs' 2> /dev/null); \
	  [ -n "$$said" ] || [ ! -e $@ ] || exit 0; set -- $${said:-unknown unknown}; \
	  [ ! -e .git ] || git diff --quiet HEAD 2> /dev/null || changed=+; \
	  printf '#define HOLDFAST_COMMIT    "%.12s%s"\n#define HOLDFAST_COMMITTED "%s"\n' "$$1" "$$changed" "$$2" > $@.new; \
	  cmp -s $@.new $@ || mv $@.new $@; rm -f $@.new
$(GEN): $(if $(COUNTS),,$(B)/gen/ready ALWAYS)
	@$(AWK) $(FROM) | cmp -s - $@ || $(AWK) $(FROM) > $@

# Checks that all libraries are there before anything is made. A libevent before 2.1.13 without Debian's fixes is open
# to known attacks: its version number does not show the fixes, but a function that came with them does. Two private
# parts of libmariadb are used as they are in 3.3 and 3.4: how an answer to a prepared statement is read and the last
# error, both in db.c.
$(B)/gen/ready:
	@why=$$(printf '#include <%s>\n' event2/event.h mysql.h csv.h curl/curl.h openssl/ssl.h | \
	  $(CC) $(filter-out -M%,$(CFLAGS)) -E - 2>&1 > /dev/null) || \
	  { echo "A compiler or a library is missing: say make install-packages ($$(echo "$$why" | head -n 1))" >&2; exit 1; }
	@[ '$(LIBEVENT)' = unchecked ] || \
	  grep -q evhttp_check_transfer_encoding_ "$$($(CC) -print-file-name=libevent_extra.so)" || \
	  printf '#include <event2/event.h>\n#if LIBEVENT_VERSION_NUMBER < 0x02010d00\n#error\n#endif\n' | $(CC) -E - > /dev/null || \
	  { echo 'libevent is open to known attacks: upgrade it to 2.1.12-stable-8+deb12u1 (Debian 12) or 2.1.13,' \
	    'or say make LIBEVENT=unchecked' >&2; exit 1; }
	@[ '$(LIBMARIADB)' = unchecked ] || \
	  printf '#include <mysql.h>\n#if MARIADB_PACKAGE_VERSION_ID < 30300 || MARIADB_PACKAGE_VERSION_ID >= 30500\n#error\n#endif\n' | \
	  $(CC) $(filter-out -M%,$(CFLAGS)) -E - > /dev/null 2>&1 || \
	  { echo 'this libmariadb is none of those whose private parts are known, 3.3 and 3.4: run the tests db and restart with it,' \
	    'then say make LIBMARIADB=unchecked' >&2; exit 1; }
	@mkdir -p $(@D) && touch $@

clean:; rm -rf build
.SECONDARY:
-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)

#!/usr/bin/env bash
# fresh.sh - the README's two commands on a Debian 12 on which nothing is installed. A root of its own is made from the
# package lists of this machine, and HEAD is put into it. There root, then an ordinary user, takes the first steps of a
# new user. Root runs all tests; the user runs those that depend on the account. The last line counts the checks. If no
# such root can be made, it says why, and all checks are skipped. FRESH_BUILD=FOLDER: what root has compiled is copied
# there when root's tests begin; the program `test` comes last.
#
# Each check runs in namespaces of its own: no process and no mount outlives it, however this script ends.
set -euo pipefail -m
cd "$(dirname "$0")/.."
suite=bookworm slice='@(@(embedded|db_tls|private_server)/*|documents/readme)'
passed=0 failed=0 checks=8 job=

home=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-fresh.XXXXXX")
root=$home/root
finish() {
	[ -z "$job" ] || kill -KILL -- "-$job" 2> /dev/null || true
	for _ in 1 2 3 4 5; do rm -rf --one-file-system "$home" 2> /dev/null && break; sleep 1; done
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
count() { echo "$passed passed, $failed failed, $((checks - passed - failed)) skipped"; exit $((failed > 0)); }
skip() { echo "fresh: skipped: $*"; count; }

# COMMAND .. in namespaces of its own, which end with it and with this script. bash is their init: it reaps.
alone() {
	(exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc "$@") &
	job=$!
	local status=0
	wait "$job" || status=$?
	job=
	return $status
}
# USER COMMAND: runs the command in the new root, with terminals and shared memory, as on a machine. Of the environment
# only a proxy is passed on.
within() {
	alone --root="$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "${proxies[@]}" \
		bash -c 'mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=tty devpts /dev/pts &&
				mount -t tmpfs tmpfs /dev/shm || exit
			timeout 2400 runuser -u "$0" -- bash -c "export HOME=~$0 && cd ~/holdfast && $1"; exit $?' \
		"$1" "$(declare -f newcomer package); $2"
}
check() {    # NAME COMMAND ..: one check; if it fails, its last lines are shown
	local since=$SECONDS word=passed
	if "${@:2}" > "$home/log" 2>&1; then passed=$((passed + 1)); else
		failed=$((failed + 1)) word=FAILED
		tail -n 80 "$home/log"
	fi
	echo "fresh: $1: $word, $((SECONDS - since)) s"
}

make_root() {
	command -v mmdebstrap || make -s install-packages PACKAGES=mmdebstrap || return
	apt-config dump Acquire > "$home/apt"
	alone mmdebstrap --variant=minbase --include=git,make --aptopt="$home/apt" --dpkgopt=force-unsafe-io "$suite" "$root" "${sources[@]}" &&
		checkout_for root
}
home_of() { chroot "$root" getent passwd "$1" | cut -d: -f6; }
checkout_for() {    # USER
	local to
	[ "$1" = root ] || chroot "$root" useradd -m "$1" || return
	to=$root$(home_of "$1")/holdfast
	mkdir "$to" && git archive HEAD | tar -x -C "$to" && objects_for "$1" "$to/build" &&
		chroot "$root" chown -R "$1:" "${to#"$root"}"
}
# The user would compile the same objects again: root's are copied, and only have to be linked.
objects_for() {    # USER FOLDER
	[ "$1" = root ] || { mkdir "$2" && cp -a "$root$(home_of root)/holdfast/build"/{gen,obj} "$2"; }
}
# Runs the README's first command and first calls, then Ctrl-C, on a free port instead of 8080.
newcomer() {
	set -m
	HOLDFAST_LISTEN=127.0.0.1:0 make run > run.log 2>&1 &
	until grep -q event=listening run.log; do kill -0 $! || { cat run.log; return 1; }; sleep 0.2; done
	cat run.log
	port=$(sed -nE 's/.*event=listening.* address=127\.0\.0\.1:([0-9]+).*/\1/p' run.log)
	awk '/^## /{ on = /A first reservation/ } /^```$/{ sh = 0 } on && sh; /^```sh$/{ sh = 1 }' README.md |
		sed "s/:8080/:$port/" > calls.sh
	bash -ex calls.sh > calls.log && curl -s "http://127.0.0.1:$port/v1/reservations/R1" >> calls.log || return
	cat calls.log
	for said in '"state":"held"' '"code":"short"' '"state":"confirmed"'; do grep -qF "$said" calls.log || return; done
	[ "$(grep -cE '^\{.*\}$' calls.log)" = 5 ] && ! grep -q 'Holdfast reserves' run.log || return
	kill -INT -- -$!
	wait $! || true
	[ ! -e var/mariadbd.sock ]
}
# Compares the sizes that apt-get said before make run and make test with the README. A point release changes them a
# little.
packages() {
	local said=() asked=()
	mapfile -t said < <(sed -nE 's/^0 upgraded, ([0-9]+) newly .*/\1/p; s/^Need to get ([0-9.]+) MB .*/\1/p
		s/^After this operation, ([0-9.]+) MB .*/\1/p' "$root$(home_of root)/holdfast/run.log"
		sed -nE 's/^Need to get ([0-9.]+) MB .*/\1/p' "$home/test")
	mapfile -t asked < <(tr '\n' ' ' < README.md |
		grep -oE 'needs [0-9]+ packages for `make run` \([^)]* MB on disk\) and [0-9]+ MB more' | grep -oE '[0-9]+')
	echo "packages, MB to load, MB on disk, MB more: README ${asked[*]}, apt-get ${said[*]}"
	[ ${#said[@]} = 4 ] && [ ${#asked[@]} = 4 ] &&
		paste <(printf '%s\n' "${said[@]}") <(printf '%s\n' "${asked[@]}") |
		awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1 + 0.05 * $2) exit 1 }'
}
# Makes the Debian package and has lintian look at it; installs it, runs the service as its user with the file of options
# that it brings, and purges it: the database stays. There is no systemd here.
package() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -y --no-install-recommends install lintian && make deb && rm -f build/*dbgsym*.deb &&
		lintian --allow-root --fail-on error,warning build/*.deb && apt-get -q -y install ./build/*.deb || return
	install -d -o holdfast -g holdfast -m 700 /var/lib/holdfast && cd /var/lib/holdfast || return
	HOLDFAST_LISTEN=unix:/tmp/shop setpriv --reuid=holdfast --regid=holdfast --init-groups \
		holdfast serve --config /etc/holdfast/holdfast.conf 2> /tmp/log &
	until grep -q event=listening /tmp/log; do kill -0 $! || return; sleep 0.2; done
	curl -sf --unix-socket /tmp/shop http://shop/readyz && grep 'jobs=expire,reap,deliver' /tmp/log || return
	kill $! && wait $! || return
	bash -c '. /usr/share/bash-completion/completions/holdfast && COMP_WORDS=(holdfast ex) COMP_CWORD=1 && _holdfast &&
		[ "${COMPREPLY[*]}" = export ]' || return
	apt-get -q -y purge holdfast && [ ! -e /etc/holdfast ] && [ -d /var/lib/holdfast/var ]
}
tests() {    # USER COMMAND
	within "$1" "$2" > "$home/test" 2>&1 && tail -n 1 "$home/test" || { cat "$home/test"; return 1; }
}
all_tests() {
	[ -z "${FRESH_BUILD-}" ] || programs_come "$root$(home_of root)/holdfast/build" &
	tests root 'make test'
}
# The log of the tests is there when they begin, and so are the programs.
programs_come() {    # FOLDER
	until [ -e "$1/test.log" ]; do [ -d "$root" ] && sleep 1 || return; done
	mkdir -p "$FRESH_BUILD" && cp -a "$1"/{gen,obj,holdfast} "$FRESH_BUILD" && cp -a "$1/test" "$FRESH_BUILD/test.new" &&
		mv "$FRESH_BUILD/test.new" "$FRESH_BUILD/test"
}

[ "$(id -u)" = 0 ] || skip 'only root can make a root of its own'
alone --root=/ true 2> "$home/log" || skip "namespaces are not permitted: $(tail -n 1 "$home/log")"
mapfile -t sources < <(grep -lsE "(^| )$suite( |\$)" /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources})
mapfile -t proxies < <(env | grep -iE '^(https?|no)_proxy=')
mkdir "$home/lists"
apt=(apt-get -q -o "Dir::State::Lists=$home/lists")
[ ${#sources[@]} -gt 0 ] || skip 'no package list of this machine is of Debian 12'
"${apt[@]}" update > "$home/log" 2>&1 && (cd "$home" && "${apt[@]}" download make) >> "$home/log" 2>&1 ||
	skip "no package can be had: $(tail -n 1 "$home/log")"

check 'a minimal root' make_root
[ $failed = 0 ] || count
check 'root: make run, and the first calls' within root newcomer
check 'root: make test' all_tests
check 'the packages that the README names' packages
check 'the Debian package' within root package
check 'user: the checkout' checkout_for newcomer
check 'user: make run, and the first calls' within newcomer newcomer
check 'user: some of the tests' tests newcomer "make test FILTER='$slice'"
count

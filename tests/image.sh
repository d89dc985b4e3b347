#!/usr/bin/env bash
# image.sh - the image that `make image` makes. It is built from a minimal Debian 12 that is made here under the name of
# the base, so no registry is asked. Its command runs as process 1, as the image's user and with the image's environment,
# on a root that cannot be written but for the volume and /tmp. It gets calls, SIGTERM, and starts again on the same
# volume. Where that cannot be done, the script says why and checks nothing. A namespace of processes and mounts stands
# for the container. The network is this machine's, so the port is another one.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=bookworm bytes_max=300000000 port=$((20000 + RANDOM % 10000)) job=
home=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-image.XXXXXX")
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah="buildah --root $home/storage --runroot $home/run"
finish() {
	[ -z "$job" ] || kill -KILL "$job" 2> /dev/null || true
	[ ! -d "$home/storage" ] || $buildah umount --all > /dev/null 2>&1 || true
	for _ in 1 2 3 4 5; do rm -rf --one-file-system "$home" 2> /dev/null && break; sleep 1; done
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
skip() { echo "image: skipped: $*"; exit 0; }
wrong() { echo "image: $*"; tail -n 40 "$home/log"; exit 1; }

[ "$(id -u)" = 0 ] || skip 'only root can make a root of its own'
unshare --mount --pid --fork true 2> "$home/log" || skip "namespaces are not permitted: $(tail -n 1 "$home/log")"
mapfile -t sources < <(grep -lsE "(^| )$suite( |\$)" /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources})
[ ${#sources[@]} -gt 0 ] || skip 'no package list of this machine is of Debian 12'
mkdir "$home/lists"
apt=(apt-get -q -o "Dir::State::Lists=$home/lists")
"${apt[@]}" update > "$home/log" 2>&1 && (cd "$home" && "${apt[@]}" download tini) >> "$home/log" 2>&1 ||
	skip "no package can be had: $(tail -n 1 "$home/log")"
make -s install-packages PACKAGES='buildah mmdebstrap curl python3' > "$home/log" 2>&1 ||
	skip "no buildah: $(tail -n 1 "$home/log")"

apt-config dump Acquire > "$home/apt"
mmdebstrap --quiet --variant=minbase --aptopt="$home/apt" --dpkgopt=force-unsafe-io "$suite" "$home/base.tar" \
	"${sources[@]}" > "$home/log" 2>&1 || wrong 'mmdebstrap failed'
{ from=$($buildah from scratch) && $buildah add -q "$from" "$home/base.tar" / && rm "$home/base.tar" &&
	$buildah commit -q --rm "$from" debian:12-slim; } > "$home/log" 2>&1 || wrong 'no base'
make -s image ENGINE=buildah BUILDER="$buildah" IMAGE_FLAGS=--pull-never > "$home/log" 2>&1 || wrong 'the build failed'

image=$($buildah from --pull-never holdfast) root=$($buildah mount "$image")
$buildah inspect "$image" > "$home/inspected"
config() { python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["Docker"]["config"]
print("\n".join(map(str, eval(sys.argv[2]))))' "$home/inspected" "$1"; }
[ "$(config '[c["User"], c["StopSignal"], *c["Volumes"], *c["ExposedPorts"]]' | tr '\n' ' ')" = \
	'10001:10001 SIGTERM /var/lib/holdfast 8080/tcp ' ] || wrong "it has $(cat "$home/inspected")"
for path in usr/bin/gcc usr/bin/cc usr/bin/make usr/include/mariadb src; do
	[ ! -e "$root/$path" ] || wrong "the image has /$path"
done
[ -z "$(ls "$root/var/lib/apt/lists" "$root/var/cache/apt" | grep -v :)" ] || wrong 'the image has package lists'
bytes=$(du -s --apparent-size -B 1 "$root" | cut -f 1)
[ "$bytes" -le $bytes_max ] || wrong "the image has $bytes bytes"

mapfile -t environment < <(config 'c["Env"]')
mapfile -t command < <(config 'c["Entrypoint"]')
install -d -m 700 -o 10001 -g 10001 "$home/volume"
within() {    # COMMAND ..
	exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -c 'set -e; root=$1 volume=$2; shift 2
		mount --bind "$root" "$root"; mount --bind "$volume" "$root/var/lib/holdfast"; mount -t tmpfs tmpfs "$root/tmp"
		mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -o remount,bind,ro "$root"
		exec chroot --userspec=10001:10001 --groups= "$root" env -i -C /var/lib/holdfast "$@"' \
		- "$root" "$home/volume" "${environment[@]}" HOLDFAST_LISTEN="0.0.0.0:$port" "$@"
}
serve() {
	(within "${command[@]}" serve) > "$home/log" 2>&1 &
	job=$!
	for _ in $(seq 300); do
		grep -q event=listening "$home/log" && return
		kill -0 $job 2> /dev/null || break
		sleep 0.2
	done
	wrong 'it does not listen'
}
# SIGTERM reaches process 1 of the namespace, the only child of unshare.
stop() {
	local status=0
	kill -TERM "$(cat /proc/$job/task/$job/children)"
	for _ in $(seq 150); do kill -0 "$job" 2> /dev/null || break; sleep 0.2; done
	kill -KILL "$job" 2> /dev/null || true
	wait "$job" || status=$?
	job=
	[ $status = 0 ] && grep -q 'event=ended status=0' "$home/log" && [ ! -e "$home/volume/var/mariadbd.sock" ] ||
		wrong "SIGTERM: status $status"
}
call() { curl -s -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "http://127.0.0.1:$port$1" "${@:2}"; }
says() { [[ $2 = *"$1"* ]] || wrong "not $1: $2"; }

serve
key=$(sed -n 's/^the first start made the key admin, .*: //p' "$home/log")
url=/v1/reservations
says '"movement_id":"M1"' "$(call /v1/movements -d '{"movement_id":"M1","kind":"receipt","lines":[{"sku":"MUG","qty":10}]}')"
says '"state":"held"' "$(call $url -d '{"order_id":"R1","lines":[{"sku":"MUG","qty":3}]}')"
says '"code":"short"' "$(call $url -d '{"order_id":"R2","lines":[{"sku":"MUG","qty":30}]}')"
says '"code":"unauthorized"' "$(key=none; call /v1/skus)"
mapfile -t health < <(config 'c["Healthcheck"]["Test"][1:]')
chroot --userspec=10001:10001 "$root" "${health[@]/:8080/:$port}" || wrong 'the health check fails'
stop
! chroot --userspec=10001:10001 "$root" "${health[@]/:8080/:$port}" 2> /dev/null || wrong 'a service that ended is healthy'
serve
! grep -q 'made the key' "$home/log" || wrong 'the second start made a key, too'
says '"state":"held"' "$(call $url/R1)"
stop
says 'all hold' "$( (within "${command[@]}" backup copies --verify) 2>&1)"
says 'is restored in ./var' "$( (within "${command[@]}" restore copies --aside) 2>&1)"
says 'all hold' "$( (within "${command[@]}" audit) 2>&1)"
echo "image: $((bytes / 1000000)) MB, the reservation is there after a restart, SIGTERM ends with 0, a back-up is restored"

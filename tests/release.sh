#!/usr/bin/env bash
# release.sh - the release of HEAD is whole, and is made of HEAD alone: its program has the same bytes as one that was
# compiled in another folder. That is build/holdfast where it is of HEAD. Left out are what strip leaves out, which
# knows the flags of debhelper, and the id of the build, which is a hash of it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d) n=0
trap 'rm -rf "$work"' EXIT
git -c advice.detachedHead=false clone -q "file://$PWD" "$work/clone"
make -s -C "$work/clone" release > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work/clone/build/release"
wrong() { echo "release: $*"; exit 1; }
sha256sum --quiet -c SHA256SUMS
[ "$(wc -l < SHA256SUMS)" = 3 ] && [ "$(ls | wc -l)" = 4 ] || wrong "not three files and their sums: $(ls)"
tar -x -z -C "$work" -f holdfast-*-linux-*.tar.gz
tar -x -z -C "$work" -f "$(ls holdfast-*.tar.gz | grep -v linux)"
cd - > /dev/null
program=$(echo "$work"/*-linux-*/bin/holdfast)
said=$("$program" version)
[[ $said = *"($(git log -1 --format='%H' | cut -c 1-12), $(git log -1 --format=%cs))" ]] || wrong "it says $said"
other=build/holdfast
if [ "$("$other" version 2> /dev/null)" != "$said" ]; then
	source=$(ls -d "$work"/holdfast-* | grep -v linux)
	make -s -C "$source" build/holdfast > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	other=$source/build/holdfast
fi
for of in "$other" "$program"; do
	objcopy --strip-all --remove-section=.note.gnu.build-id "$of" "$work/bytes.$((++n))"
done
cmp "$work/bytes.1" "$work/bytes.2" || wrong "$other has other bytes than the released program"
echo "release: $said, the same bytes in two folders"

#!/usr/bin/env bash
# The checks of the client: the generated files, the types, what pip installs, and the tests against HOLDFAST_BIN, or
# build/holdfast. What is not installed is named as skipped. Exit 1 if a check fails. PYTHON is another interpreter.
set -u
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
to=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null; wait; rm -rf "$to"' EXIT
trap 'exit 1' TERM INT
export PYTHONDONTWRITEBYTECODE=1 MYPY_CACHE_DIR=$to/mypy
status=0

skipped() { echo "python: skipped: $1"; }
fails() { echo "python: $1"; status=1; }
has() { "$PYTHON" -c "import $1" 2> /dev/null; }

# What takes the longest begins first. Each test waits more than it computes.
names=(test_faults.Faults.test_threads test_faults.Faults.test_asyncio test_answers test_service test_readme
  test_rules test_http1 test_webhook)
declare -A tests
for name in "${names[@]}"; do
	(cd tests && exec "$PYTHON" -m unittest "$name") > "$to/$name" 2>&1 &
	tests[$name]=$!
done

if has yaml; then "$PYTHON" ./generate.py --check || fails 'the generated files are stale'
else skipped 'generated files are not compared with the contract: no PyYAML (apt-get install python3-yaml)'; fi
mkdir "$to/readme"
awk -v to="$to/readme" '
	/^```/ { inside = /python/; parts += inside; next }
	inside { print > (to "/part" parts ".py") }' README.md
if command -v mypy > /dev/null; then
	mypy || fails 'mypy --strict finds faults'
	MYPYPATH=$PWD mypy --config-file= --check-untyped-defs "$to"/readme/part*.py || fails 'the README has faults of types'
else skipped 'the types are not checked: mypy is missing (apt-get install mypy)'; fi
if has setuptools && has pip && has wheel; then
	cp -r . "$to/source"                    # setuptools builds beside the sources
	(cd "$to" && "$PYTHON" -m pip --disable-pip-version-check install -q --no-index --no-build-isolation --no-deps \
	  --target "$to/installed" "$to/source" && PYTHONPATH=$to/installed "$PYTHON" - <<-'END'
		import importlib.metadata, importlib.resources, holdfast
		assert importlib.metadata.version('holdfast') == holdfast.__version__
		assert (importlib.resources.files('holdfast') / 'py.typed').is_file()
	END
	) > "$to/pip" 2>&1 || { cat "$to/pip"; fails 'pip does not install it'; }
else skipped 'pip does not try to install it (apt-get install python3-pip python3-setuptools python3-wheel)'; fi

for name in "${names[@]}"; do
	wait "${tests[$name]}" || { cat "$to/$name"; fails "$name fails"; }
	sed -n 's/.* skipped .\(.*\)/python: skipped: \1/p' "$to/$name"
	echo "python: $name: $(tail -n 3 "$to/$name" | tr '\n' ' ')"
done
exit $status

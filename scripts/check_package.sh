#!/bin/sh
# Build the wheel and the sdist, check their metadata, install the wheel out of sight of the checkout, and try it there.
set -eu
python=$1
checkout=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m build --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$python" -m twine check --strict "$work"/dist/* >"$work/twine.log" 2>&1 || { cat "$work/twine.log"; exit 1; }
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --quiet --disable-pip-version-check install "$work"/dist/*.whl

cp "$checkout"/examples/*.py "$checkout"/examples/tour.sh "$work"
cd "$work"
unset PYTHONPATH
PATH="$work/venv/bin:$PATH"
python -c 'import tilery, sys; sys.exit(not tilery.__file__.startswith(sys.prefix))'
sh tour.sh >tour.log || { cat tour.log; exit 1; }
tar -tzf dist/*.tar.gz >sdist.txt
for file in LICENSE README.md src/tilery/py.typed tests/conftest.py docs/index.md examples/make_kernel.py; do
    grep -q "/$file\$" sdist.txt || { echo "the sdist does not contain $file"; exit 1; }
done
echo "package: wheel and sdist built; the wheel works by itself ($(ls dist | tr '\n' ' '))"

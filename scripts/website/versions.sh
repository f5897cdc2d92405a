#!/bin/sh
# Build the site of this commit as `latest` and of each tag `v*` that has one, side by side: sh scripts/website/versions.sh OUT
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
tags=$(git tag --list 'v*' --sort=-v:refname)
versions=latest
for tag in $tags; do
    if git cat-file -e "$tag:scripts/website/build.py" 2>/dev/null; then versions="$versions,${tag#v}"; fi
done
export SITE_VERSIONS="$versions"
SITE_VERSION=latest make site
cp -R build/site/html "$out/latest"
for tag in $tags; do
    git cat-file -e "$tag:scripts/website/build.py" 2>/dev/null || continue
    work=$(mktemp -d)
    git worktree add --quiet --detach "$work/tree" "$tag"
    (cd "$work/tree" && SITE_VERSION="${tag#v}" make site)
    cp -R "$work/tree/build/site/html" "$out/${tag#v}"
    git worktree remove --force "$work/tree"
done
echo '<!doctype html><meta charset="utf-8"><title>tilery</title><meta http-equiv="refresh" content="0; url=latest/index.html"><a href="latest/index.html">tilery</a>' >"$out/index.html"

#!/bin/sh
# A short tour of the command line; `make demo` runs it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

step() {
    printf '\n== %s\n$ %s\n' "$1" "$2"
    sh -c "$2"
}

cp "$here/make_kernel.py" .
step "Build a kernel in Python, with the operation classes as builders" "python make_kernel.py vector_add.tileirbc"
step "What is in the file?" "tilery info vector_add.tileirbc"
step "What does every byte mean? (the first lines)" "tilery dump vector_add.tileirbc | head -n 24"
step "Write it for a newer compiler" "tilery convert vector_add.tileirbc --version 13.3 -o newer.tileirbc"
step "Did the conversion change the program?" "tilery diff vector_add.tileirbc newer.tileirbc && echo 'no difference'"
step "Print it as text" "tilery dis newer.tileirbc"
step "Is it legal? Change a type and see" \
    "tilery dis newer.tileirbc | sed 's/addf %tile, %tile_2  : tile<128xf32>/addf %tile, %tile_2 : tile<64xf32>/' | tilery check - || true"
step "Make a random legal module" "tilery smith --seed 351 --size 14 --version 13.1 -o random.tileirbc && tilery dis random.tileirbc"
step "Optimise it" "tilery opt random.tileirbc --passes canonicalize,fold-int,cse --stats"
step "Look up an operation" "tilery ops addf"
step "Run the kernel on the CPU: four tile blocks add two arrays" \
    "tilery run vector_add.tileirbc --grid 4 --arg a=arange:f32:500 --arg b=ones:f32:500 --arg out=zeros:f32:500 --arg n=i32:500 --print out --stats"
step "Pass an array that is too short, and see the error" \
    "tilery run vector_add.tileirbc --grid 4 --arg a=arange:f32:500 --arg b=ones:f32:400 --arg out=zeros:f32:500 --arg n=i32:500 || true"

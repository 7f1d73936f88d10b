#!/bin/sh
# Builds the interpreter and runs the model of the bug report.
set -e
mkdir -p build
for file in src/*.cpp; do
  g++ -std=c++17 -Wall -O0 -g -Isrc -c "$file" -o "build/$(basename "$file" .cpp).o"
done
g++ build/*.o -o build/interpreter
exec build/interpreter "${1:-data/model.txt}"

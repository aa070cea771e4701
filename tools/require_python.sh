#!/bin/sh
# require_python.sh PYTHON: end with what to install where PYTHON cannot create a virtual environment for this package.
python=$1
if ! command -v "$python" > /dev/null 2>&1; then
  echo "$python: expected Python 3.10 or newer, found none. Debian, Ubuntu: sudo apt install python3 python3-venv" >&2
  echo "(another interpreter: make PYTHON=/path/to/python3)" >&2
  exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  echo "$python: expected Python 3.10 or newer, found $("$python" -V 2>&1). Another interpreter: make PYTHON=/path/to/python3" >&2
  exit 2
fi
if ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "$python: expected the modules venv and ensurepip, found them missing. Debian, Ubuntu: sudo apt install python$version-venv" >&2
  exit 2
fi

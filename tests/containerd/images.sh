#!/usr/bin/env bash
# images.sh CACHE SOCKET [--namespace NS] [--ctr PROGRAM]: makes the tests' images below CACHE and imports them into the
# containerd at SOCKET. images.py says what they are.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/images.py" "$@"

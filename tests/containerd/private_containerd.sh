#!/usr/bin/env bash
# private_containerd.sh start DIR [--containerd 1|2] | stop DIR: a containerd of one's own below DIR, for shell scripts.
# `start` prints lines NAME=VALUE that may be sourced; exit code 77 says that it cannot be had here, and why.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/private_containerd.py" "$@"

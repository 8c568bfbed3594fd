#!/bin/sh
# Entry of the container image: `web`, `worker`, `migrate`, `backup` and `replay` are Parkade's, anything else is run as given.
case "$1" in
  web | worker | migrate | backup | replay)
    name="$1"
    shift
    exec node --max-semi-space-size=16 "/app/dist/$name.mjs" "$@"
    ;;
  *) exec "$@" ;;
esac

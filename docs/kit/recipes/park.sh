#!/bin/sh
# Parks the bytes of standard input: park.sh EVENT_ID ERROR_CODE MESSAGE < payload
# Exits with 0 when Parkade has stored the event, now or before. Otherwise do not acknowledge the message.
set -eu

# A line break would end the header.
header() { printf '%s: %s' "$1" "$(printf '%s' "$2" | tr -d '\r\n')"; }

# A CloudEvent in binary mode: the payload needs no escaping. --retry waits as long as Retry-After asks.
# A redirect is no failure to curl, so the status is compared: the last line of the answer.
answer=$(curl --silent --show-error --write-out '\n%{http_code}' --max-time 5 \
  --retry 4 --retry-connrefused --retry-max-time 20 \
  --data-binary @- \
  -H "content-type: ${CONTENT_TYPE:-application/octet-stream}" \
  -H "authorization: Bearer ${PARKADE_TOKEN:-}" \
  -H "x-parkade-source: $PARKADE_SOURCE" \
  -H "ce-specversion: 1.0" -H "ce-source: /$PARKADE_SOURCE" -H "ce-type: ${EVENT_TYPE:-message}" \
  -H "$(header ce-id "$1")" -H "$(header ce-errorcode "$2")" -H "$(header ce-errormessage "$3")" \
  "$PARKADE_URL/api/v1/events")
printf '%s\n' "$answer"
[ "${answer##*[!0-9]}" = 202 ]

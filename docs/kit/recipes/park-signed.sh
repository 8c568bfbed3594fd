#!/bin/sh
# Parks the bytes of standard input at a source that takes signed requests only (Standard Webhooks):
# park-signed.sh EVENT_ID ERROR_CODE MESSAGE < payload
# Exits with 0 when Parkade has stored the event, now or before. Otherwise do not acknowledge the message.
# openssl gets the key on its command line, which other users of the machine can read while it runs.
set -eu

# A JSON string. Control characters become spaces.
json() { printf '"%s"' "$(printf '%s' "$1" | tr '\000-\037' ' ' | sed 's/[\\"]/\\&/g')"; }

body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
  printf '{"source":%s,"eventId":%s,"errorCode":%s' "$(json "$PARKADE_SOURCE")" "$(json "$1")" "$(json "$2")"
  printf ',"error":{"message":%s},"contentType":%s' "$(json "$3")" "$(json "${CONTENT_TYPE:-application/octet-stream}")"
  # The signature does not cover headers, so the payload travels in the body.
  printf ',"payloadBase64":"%s"}' "$(openssl base64 -A)"
} > "$body"

id="msg_$(openssl rand -hex 16)"
timestamp=$(date +%s)
key=$(printf '%s' "${PARKADE_SIGNING_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
mac=$({ printf '%s.%s.' "$id" "$timestamp"; cat "$body"; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)

# --retry waits as long as Retry-After asks. Its 20 s end before the signature does, which counts for five minutes.
# A redirect is no failure to curl, so the status is compared: the last line of the answer.
answer=$(curl --silent --show-error --write-out '\n%{http_code}' --max-time 5 \
  --retry 4 --retry-connrefused --retry-max-time 20 \
  --data-binary "@$body" \
  -H "content-type: application/json" \
  -H "authorization: Bearer ${PARKADE_TOKEN:-}" \
  -H "webhook-id: $id" -H "webhook-timestamp: $timestamp" -H "webhook-signature: v1,$mac" \
  "$PARKADE_URL/api/v1/events")
printf '%s\n' "$answer"
[ "${answer##*[!0-9]}" = 202 ]

"""Parks a failed message in Parkade. Standard library alone, Python 3.9 or newer."""

import base64
import hashlib
import hmac
import json
import os
import random
import time
import traceback
import urllib.error
import urllib.request
import uuid

REPEATED = {408, 425, 429, 500, 502, 503, 504}


def park(error, event_id, payload, *, error_code=None, content_type="application/octet-stream", **facts):
    """True when Parkade has stored the event, now or before. False: do not acknowledge the message. Never raises.

    `payload` is bytes. `facts` are further fields of the event: aggregateId, version, attempts, traceId, headers, tags.
    """
    event = {
        "source": os.environ["PARKADE_SOURCE"],
        "eventId": event_id,
        "errorCode": error_code or code_of(error),
        "error": {
            "type": type(error).__name__,
            "message": str(error)[:8_192],
            # With the chain of causes.
            "stack": "".join(traceback.format_exception(type(error), error, error.__traceback__))[-65_536:],
        },
        "payloadBase64": base64.b64encode(payload).decode(),
        "contentType": content_type,
        **facts,
    }
    for attempt in range(5):
        try:
            # Only 202 means stored: a proxy may have led the request elsewhere.
            return send(event) == 202
        except urllib.error.HTTPError as refused:
            refused.close()
            if refused.code not in REPEATED:
                return False
            asked = refused.headers.get("retry-after", "")
            wait = float(asked) if asked.isdigit() else 0
        except OSError:
            wait = 0
        # Full jitter: consumers that fail together do not come back together.
        wait = max(wait, random.uniform(0, min(0.2 * 2**attempt, 5)))
        if wait > 10:
            return False
        time.sleep(wait)
    return False


def send(event):
    body = json.dumps(event).encode()
    request = urllib.request.Request(
        os.environ["PARKADE_URL"] + "/api/v1/events",
        data=body,
        headers={
            "content-type": "application/json",
            "authorization": "Bearer " + os.environ.get("PARKADE_TOKEN", ""),
            **signature(body),
        },
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        answer.read()
        return answer.status


def signature(body):
    """For a source that takes signed requests only (Standard Webhooks). Of each try anew: it counts for five minutes."""
    secret = os.environ.get("PARKADE_SIGNING_SECRET", "")
    if not secret:
        return {}
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message_id, timestamp = f"msg_{uuid.uuid4()}", str(int(time.time()))
    mac = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(mac).decode(),
    }


def code_of(error):
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    if isinstance(error, ConnectionError):
        return "CONNECTION_ERROR"
    if isinstance(error, (ValueError, AssertionError)):
        return "VALIDATION_ERROR"
    return "UNHANDLED_EXCEPTION"


def handle(payload):
    raise ValueError("the order has no lines") from KeyError("lines")


if __name__ == "__main__":
    message = json.dumps({"orderId": 77}).encode()
    try:
        handle(message)
    except Exception as failure:
        parked = park(failure, os.environ["EVENT_ID"], message, content_type="application/json", attempts=3)
        raise SystemExit(0 if parked else 1)

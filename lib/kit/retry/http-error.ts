/** How much of a refused answer is kept for the log. */
const BODY_CHARS_MAX = 4_096;

/** An HTTP answer that is no success, with the hints when to ask again that `classify` reads. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  /** `Retry-After` as sent: seconds or an HTTP date. */
  readonly retryAfter: string | null;
  /** `Retry-After-Ms` or `x-amz-retry-after` as sent: whole milliseconds. */
  readonly retryAfterMs: string | null;
  /** The beginning of the answer's body. */
  readonly body: string;

  constructor(status: number, headers: Headers, body: string) {
    super(`HTTP ${status}`);
    this.status = status;
    this.retryAfter = headers.get("retry-after");
    this.retryAfterMs = headers.get("retry-after-ms") ?? headers.get("x-amz-retry-after");
    this.body = body;
  }
}

/**
 * The answer itself when it is a success (2xx), else HttpError. `fetch` resolves with a 503 as well: without this a failed
 * answer is not repeated. Of a failed answer the first 4,096 characters are read and the rest is discarded.
 */
export async function ensureOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new HttpError(response.status, response.headers, await beginningOf(response));
}

async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    while (text.length < BODY_CHARS_MAX) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
    await reader.cancel();
  } catch {
    // The status is known: a body that breaks off changes nothing about it.
  }
  return text.slice(0, BODY_CHARS_MAX);
}

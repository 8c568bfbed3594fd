import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Base64;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Parks a failed message in Parkade. JDK 17 or newer, no dependency: java Park.java */
public final class Park {
  private static final Set<Integer> REPEATED = Set.of(408, 425, 429, 500, 502, 503, 504);
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();

  /** True when Parkade has stored the event, now or before. False: do not acknowledge the message. */
  static boolean park(Throwable error, String eventId, String errorCode, byte[] payload, String contentType, int attempts)
      throws InterruptedException {
    String event =
        "{\"source\":" + json(System.getenv("PARKADE_SOURCE"))
            + ",\"eventId\":" + json(eventId)
            + ",\"errorCode\":" + json(errorCode)
            + ",\"error\":{\"type\":" + json(error.getClass().getName())
            + ",\"message\":" + json(String.valueOf(error.getMessage()))
            + ",\"stack\":" + json(stackOf(error)) + "}"
            + ",\"attempts\":" + attempts
            + ",\"contentType\":" + json(contentType)
            + ",\"payloadBase64\":" + json(Base64.getEncoder().encodeToString(payload)) + "}";
    byte[] body = event.getBytes(StandardCharsets.UTF_8);
    for (int attempt = 0; attempt < 5; attempt++) {
      long waitMs = 0;
      try {
        HttpResponse<String> answer = CLIENT.send(request(body), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() == 202) return true;
        if (!REPEATED.contains(answer.statusCode())) return false;
        String asked = answer.headers().firstValue("retry-after").orElse("");
        if (asked.matches("\\d{1,6}")) waitMs = Long.parseLong(asked) * 1000;
      } catch (java.io.IOException unreachable) {
        // Tried again below.
      }
      // Full jitter: consumers that fail together do not come back together.
      waitMs = Math.max(waitMs, ThreadLocalRandom.current().nextLong(1 + Math.min(200L << attempt, 5000)));
      if (waitMs > 10_000) return false;
      Thread.sleep(waitMs);
    }
    return false;
  }

  private static HttpRequest request(byte[] body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(System.getenv("PARKADE_URL") + "/api/v1/events"))
            .timeout(Duration.ofSeconds(5))
            .header("content-type", "application/json")
            .header("authorization", "Bearer " + System.getenv().getOrDefault("PARKADE_TOKEN", ""));
    String secret = System.getenv().getOrDefault("PARKADE_SIGNING_SECRET", "");
    if (!secret.isEmpty()) sign(request, secret, body);
    return request.POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
  }

  /** For a source that takes signed requests only (Standard Webhooks). Of each try anew: it counts for five minutes. */
  private static void sign(HttpRequest.Builder request, String secret, byte[] body) {
    String id = "msg_" + UUID.randomUUID();
    String timestamp = Long.toString(System.currentTimeMillis() / 1000);
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256"));
      mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
      String signature = Base64.getEncoder().encodeToString(mac.doFinal(body));
      request.header("webhook-id", id).header("webhook-timestamp", timestamp).header("webhook-signature", "v1," + signature);
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible); // every JDK has HmacSHA256
    }
  }

  /** With the chain of causes. */
  private static String stackOf(Throwable error) {
    StringWriter text = new StringWriter();
    error.printStackTrace(new PrintWriter(text));
    return text.toString();
  }

  private static String json(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') quoted.append('\\').append(c);
      else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
      else quoted.append(c);
    }
    return quoted.append('"').toString();
  }

  public static void main(String[] arguments) throws InterruptedException {
    byte[] message = "{\"orderId\": 77}".getBytes(StandardCharsets.UTF_8);
    try {
      throw new IllegalArgumentException("the order has no lines", new IllegalStateException("lines"));
    } catch (RuntimeException failure) {
      String eventId = System.getenv("EVENT_ID");
      System.exit(park(failure, eventId, "VALIDATION_ERROR", message, "application/json", 3) ? 0 : 1);
    }
  }
}

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

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
    String token = System.getenv().getOrDefault("PARKADE_TOKEN", "");
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(System.getenv("PARKADE_URL") + "/api/v1/events"))
            .timeout(Duration.ofSeconds(5))
            .header("content-type", "application/json")
            .header("authorization", "Bearer " + token)
            .POST(HttpRequest.BodyPublishers.ofString(event))
            .build();
    for (int attempt = 0; attempt < 5; attempt++) {
      long waitMs = 0;
      try {
        HttpResponse<String> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 == 2) return true;
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

// Parks a failed message in Parkade. .NET 8 or newer, no package.
using System;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;

public static class Parkade
{
    private static readonly HttpClient Client = new() { Timeout = TimeSpan.FromSeconds(5) };
    private static readonly int[] Repeated = [408, 425, 429, 500, 502, 503, 504];

    /// <summary>True when Parkade has stored the event, now or before. False: do not acknowledge the message.</summary>
    public static async Task<bool> Park(
        Exception error, string eventId, string errorCode, byte[] payload, string contentType, int attempts)
    {
        var body = JsonSerializer.SerializeToUtf8Bytes(new
        {
            source = Environment.GetEnvironmentVariable("PARKADE_SOURCE"),
            eventId,
            errorCode,
            // ToString holds the stack and the chain of causes.
            error = new { type = error.GetType().FullName, message = error.Message, stack = error.ToString() },
            attempts,
            contentType,
            payloadBase64 = Convert.ToBase64String(payload),
        });
        for (var attempt = 0; attempt < 5; attempt++)
        {
            var wait = TimeSpan.Zero;
            try
            {
                using var request = new HttpRequestMessage(
                    HttpMethod.Post, Environment.GetEnvironmentVariable("PARKADE_URL") + "/api/v1/events")
                { Content = new ByteArrayContent(body) };
                request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
                request.Headers.TryAddWithoutValidation(
                    "authorization", "Bearer " + Environment.GetEnvironmentVariable("PARKADE_TOKEN"));
                Sign(request, body);
                using var answer = await Client.SendAsync(request);
                // Only 202 means stored: a proxy may have led the request elsewhere.
                if (answer.StatusCode == HttpStatusCode.Accepted) return true;
                if (!Repeated.Contains((int)answer.StatusCode)) return false;
                wait = answer.Headers.RetryAfter?.Delta ?? TimeSpan.Zero;
            }
            catch (Exception unreachable) when (unreachable is HttpRequestException or TaskCanceledException)
            {
                // Tried again below.
            }
            // Full jitter: consumers that fail together do not come back together.
            var jitter = TimeSpan.FromMilliseconds(Random.Shared.NextDouble() * Math.Min(200 << attempt, 5000));
            if (jitter > wait) wait = jitter;
            if (wait > TimeSpan.FromSeconds(10)) return false;
            await Task.Delay(wait);
        }
        return false;
    }

    /// <summary>For a source that takes signed requests only (Standard Webhooks). Of each try anew: a signature counts for
    /// five minutes.</summary>
    private static void Sign(HttpRequestMessage request, byte[] body)
    {
        var secret = Environment.GetEnvironmentVariable("PARKADE_SIGNING_SECRET");
        if (string.IsNullOrEmpty(secret)) return;
        var key = Convert.FromBase64String(secret.StartsWith("whsec_", StringComparison.Ordinal) ? secret[6..] : secret);
        var id = $"msg_{Guid.NewGuid()}";
        var timestamp = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        byte[] signed = [.. Encoding.UTF8.GetBytes($"{id}.{timestamp}."), .. body];
        request.Headers.Add("webhook-id", id);
        request.Headers.Add("webhook-timestamp", $"{timestamp}");
        request.Headers.TryAddWithoutValidation(
            "webhook-signature", "v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed)));
    }
}

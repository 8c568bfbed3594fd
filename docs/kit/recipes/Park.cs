// Parks a failed message in Parkade. .NET 8 or newer, no package.
using System.Net.Http.Json;

public static class Parkade
{
    private static readonly HttpClient Client = new() { Timeout = TimeSpan.FromSeconds(5) };
    private static readonly int[] Repeated = [408, 425, 429, 500, 502, 503, 504];

    /// <summary>True when Parkade has stored the event, now or before. False: do not acknowledge the message.</summary>
    public static async Task<bool> Park(
        Exception error, string eventId, string errorCode, byte[] payload, string contentType, int attempts)
    {
        var body = new
        {
            source = Environment.GetEnvironmentVariable("PARKADE_SOURCE"),
            eventId,
            errorCode,
            // ToString holds the stack and the chain of causes.
            error = new { type = error.GetType().FullName, message = error.Message, stack = error.ToString() },
            attempts,
            contentType,
            payloadBase64 = Convert.ToBase64String(payload),
        };
        for (var attempt = 0; attempt < 5; attempt++)
        {
            var wait = TimeSpan.Zero;
            try
            {
                using var request = new HttpRequestMessage(
                    HttpMethod.Post, Environment.GetEnvironmentVariable("PARKADE_URL") + "/api/v1/events")
                { Content = JsonContent.Create(body) };
                request.Headers.TryAddWithoutValidation(
                    "authorization", "Bearer " + Environment.GetEnvironmentVariable("PARKADE_TOKEN"));
                using var answer = await Client.SendAsync(request);
                if (answer.IsSuccessStatusCode) return true;
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
}

using System;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;

static class Snowfence
{
    static readonly HttpClient http = new HttpClient { Timeout = TimeSpan.FromSeconds(5) };

    public static async Task<long[]> Ids(int n = 1)
    {
        var url = (Environment.GetEnvironmentVariable("SNOWFENCE_SERVER") ?? "http://127.0.0.1:8080")
            + "/v1/default/next?n=" + n;
        var ask = new HttpRequestMessage(HttpMethod.Get, url);
        ask.Headers.Add("Accept", "text/plain"); // one ID a line
        ask.Headers.TryAddWithoutValidation("Authorization",
            "Bearer " + Environment.GetEnvironmentVariable("SNOWFENCE_TOKEN"));
        var answer = await http.SendAsync(ask);
        var text = await answer.Content.ReadAsStringAsync();
        if (!answer.IsSuccessStatusCode) throw new Exception(text);
        return text.Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries).Select(long.Parse).ToArray();
    }

    static void Main()
    {
        foreach (var id in Ids(3).GetAwaiter().GetResult()) Console.WriteLine(id);
    }
}

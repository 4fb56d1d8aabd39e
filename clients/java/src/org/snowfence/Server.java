package org.snowfence;

import static org.snowfence.SnowfenceException.check;
import static org.snowfence.SnowfenceException.refused;
import static org.snowfence.SnowfenceException.unreachable;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The server at an address: POSTs of JSON over HTTP, HTTPS or a Unix socket. Threads may share it. */
final class Server {
    /** What came back. */
    record Answer(int status, String body) {}

    final String address;
    private final String token;
    private final String base;
    private final UnixSocket socket; // null without one
    private final HttpClient http;

    /** SNOWFENCE_SERVER and SNOWFENCE_TOKEN stand in for an address and a token that are null. */
    Server(String address, String token) {
        this.address = either(address, either(System.getenv("SNOWFENCE_SERVER"), "http://127.0.0.1:8080"));
        this.token = new Options().token(either(token, System.getenv("SNOWFENCE_TOKEN"))).token;
        boolean unix = this.address.startsWith("unix:/") && !this.address.startsWith("unix://");
        String shown = this.address.replaceFirst("(?s)^.*@", "…@"); // without a password
        check(unix || isUrl(this.address), "'" + shown
            + "' is no address of a server, such as http://127.0.0.1:8080 or unix:/run/ids.sock");
        base = this.address.replaceAll("/+$", "");
        socket = unix ? new UnixSocket(this.address.substring("unix:".length())) : null;
        http = unix ? null : HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(5)).build(); // follows no redirects
    }

    private static String either(String text, String other) {
        return text == null || text.isEmpty() ? other : text;
    }

    private static boolean isUrl(String text) {
        try {
            URI u = new URI(text);
            return List.of("http", "https").contains(String.valueOf(u.getScheme())) && u.getHost() != null
                && u.getRawQuery() == null && !text.contains("@") && u.getRawFragment() == null;
        } catch (java.net.URISyntaxException e) {
            return false;
        }
    }

    /** Calls a method such as LeaseService/Acquire. It throws REFUSED or UNREACHABLE. */
    Map<String, Object> call(String method, Map<String, Object> body, Duration timeout) {
        CompletableFuture<Answer> call = send("/snowfence.v1." + method, Json.write(body));
        try {
            return read(call.get(timeout.toMillis(), TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            call.cancel(true);
            throw unreachable("no answer from " + address + " in " + timeout.toMillis()
                + " ms: check that the server runs", true);
        } catch (ExecutionException e) {
            Throwable why = e.getCause();
            boolean sent = !(why instanceof ConnectException || why instanceof HttpConnectTimeoutException);
            String text = why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
            throw unreachable("no answer from " + address + ": " + text
                + ": check the address, and that the server runs", sent);
        } catch (InterruptedException e) {
            call.cancel(true);
            Thread.currentThread().interrupt();
            throw new SnowfenceException(SnowfenceException.Kind.INTERRUPTED, "interrupted in a call of " + address);
        }
    }

    private CompletableFuture<Answer> send(String path, String body) {
        if (socket != null) {
            return socket.post(path, token, body);
        }
        HttpRequest.Builder r = HttpRequest.newBuilder(URI.create(base + path))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body));
        if (token != null) {
            r.header("Authorization", "Bearer " + token);
        }
        return http.sendAsync(r.build(), HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8))
            .thenApply(a -> new Answer(a.statusCode(), a.body()));
    }

    private Map<String, Object> read(Answer a) {
        Map<?, ?> answer = null;
        try {
            answer = Json.read(a.body) instanceof Map<?, ?> m ? m : null;
        } catch (IllegalArgumentException e) {
            // answer stays null: the text is damaged, or of another program
        }
        if (a.status == 200 && answer != null) {
            @SuppressWarnings("unchecked") // the keys of an object are texts
            Map<String, Object> out = (Map<String, Object>) answer;
            return out;
        }
        if (a.status < 400) {
            throw unreachable(address + " answers, but not as a Snowfence server does (status " + a.status
                + "): check the address", true);
        }
        Object text = answer == null ? null : answer.get("message");
        throw refused(a.status, reason(answer), address + ": " + (text == null ? "status " + a.status : text));
    }

    /** Returns the reason of the google.rpc.ErrorInfo among the details of an error, or "". */
    private static String reason(Map<?, ?> answer) {
        if (answer != null && answer.get("details") instanceof List<?> details) {
            for (Object detail : details) {
                if (detail instanceof Map<?, ?> d && "google.rpc.ErrorInfo".equals(d.get("type"))) {
                    return firstText(String.valueOf(d.get("value")));
                }
            }
        }
        return "";
    }

    private static String firstText(String base64) {
        try {
            byte[] b = Base64.getDecoder().decode(base64);
            return b.length > 1 && b[0] == 10 && b[1] >= 0 && b.length >= 2 + b[1]
                ? new String(b, 2, b[1], StandardCharsets.UTF_8) : ""; // field 1, a text
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    static IOException damaged(String why) {
        return new IOException("the answer is damaged: " + why);
    }
}

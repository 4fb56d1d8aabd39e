package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * Numbers 1, 2, 3, … of a sequence, which "snowfence sequence create" made. It keeps none, so threads
 * may share it. Numbers of an answer that gets lost are a gap.
 */
public final class Sequence {
    private final String name;
    private final Server server;
    private final Duration timeout;

    /** A sequence of the server of the options: their token, and their longest wait, count too. */
    public Sequence(String name, Options options) {
        check(name != null && !name.isEmpty(), "name must be the name of a sequence, such as bills");
        check(options != null, "options name the server, as in new Options().server(url)");
        this.name = name;
        server = new Server(options.server, options.token);
        check(!options.maxWait.isZero(), "maxWait is how long an answer may take: more than 0");
        timeout = options.maxWait;
    }

    /** Takes a number. */
    public long next() {
        return take(1)[0];
    }

    /** Takes 1 to 1,000,000 numbers that follow each other, in one call. */
    public long[] take(int n) {
        Map<String, Object> answer = call(n, false);
        try {
            long first = number(answer, "first"), last = number(answer, "last"), step = number(answer, "step");
            if (step != 0 && (last - first) % step == 0 && (last - first) / step == n - 1) {
                return LongStream.range(0, n).map(i -> first + i * step).toArray();
            }
        } catch (NumberFormatException e) {
            // it is damaged, as below
        }
        throw damaged(n);
    }

    /** Takes a number as people read it, such as 2026-000017 of a dated sequence. */
    public String serial() {
        if (call(1, true).get("numbers") instanceof List<?> l && l.size() == 1 && l.get(0) instanceof String text) {
            return text;
        }
        throw damaged(1);
    }

    private Map<String, Object> call(int n, boolean texts) {
        check(n >= 1 && n <= 1_000_000, n + " numbers at once: take 1 to 1,000,000");
        return server.call("SequenceService/Next",
            Map.of("name", name, "count", n, "without_numbers", !texts), timeout);
    }

    private static long number(Map<String, Object> answer, String key) {
        return Long.parseLong(answer.getOrDefault(key, "0").toString());
    }

    private SnowfenceException damaged(int n) {
        return SnowfenceException.unreachable(server.address
            + ": the answer has not the " + n + " numbers of sequence '"
            + name + "' that were asked for", true);
    }
}

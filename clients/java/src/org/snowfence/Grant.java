package org.snowfence;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** What a server answered: a node, its ticks, and the ticket that stands for them. */
record Grant(Layout layout, long node, long from, long until, String ticket, long renewAfter, Instant now) {
    /** Reads an answer. One that is damaged is a RuntimeException. */
    static Grant of(Map<String, Object> answer) {
        Object now = answer.get("now");
        Layout layout = new Layout((String) answer.get("layout"));
        long until = Math.min(number(answer, "until"), layout.ticks()); // it may reach beyond the last tick
        return new Grant(layout, number(answer, "node"), number(answer, "from"), until,
            (String) answer.get("ticket"), nanos((String) answer.get("renew_after")),
            now == null ? null : Instant.parse((String) now));
    }

    /** Whether the numbers fit together. */
    boolean isSound() {
        return !ticket.isEmpty() && node >= 0 && from >= 0 && until >= 0 && renewAfter > 0 && fits();
    }

    private boolean fits() {
        try {
            layout.at(0, node, 0);
            return true;
        } catch (SnowfenceException e) {
            return false;
        }
    }

    private static long number(Map<String, Object> answer, String key) {
        return Long.parseLong(answer.getOrDefault(key, "0").toString());
    }

    /** Reads seconds such as 5s or 0.5s. */
    private static long nanos(String text) {
        return text.endsWith("s") ? Duration.parse("PT" + text).toNanos() : 0;
    }
}

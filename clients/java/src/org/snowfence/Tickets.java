package org.snowfence;

import static org.snowfence.SnowfenceException.unreachable;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the thread of a lease says to the server: the ticket that it holds, and the calls without an answer. */
final class Tickets {
    private static final int UNANSWERED = 64; // attempts that a server takes

    private final Map<String, Object> request; // of an Acquire
    private final Server server;
    private final SecureRandom random = new SecureRandom();
    private String ticket = ""; // "" if none is held
    private String lost = ""; // the last one that was lost
    private long node = -1; // the one that was held last
    private long from; // of the grant
    private List<String> earlier = List.of(); // attempts that had no answer
    private boolean copied; // a copy of this process may stamp the same grant, too

    Tickets(Options options, Server server) {
        request = options.request();
        this.server = server;
    }

    boolean held() {
        return !ticket.isEmpty();
    }

    long node() {
        return node;
    }

    /** Renews the grant, or acquires one, once. */
    Grant ask(Duration timeout) {
        byte[] bytes = new byte[12];
        random.nextBytes(bytes);
        // Copies of a machine have one state of the random generator: the clocks tell them apart.
        long clocks = System.nanoTime() + System.currentTimeMillis() * 1_000_000;
        String attempt = Base64.getUrlEncoder().encodeToString(bytes) + Long.toUnsignedString(clocks, 36);
        Map<String, Object> body = new HashMap<>(held() ? Map.of("ticket", ticket) : who());
        body.put("attempt", attempt);
        body.put("earlier", earlier);
        List<String> before = earlier;
        earlier = new ArrayList<>(before);
        earlier.add(attempt);
        earlier = earlier.subList(Math.max(0, earlier.size() - UNANSWERED), earlier.size());
        Grant g;
        try {
            g = read(server.call("LeaseService/" + (held() ? "Renew" : "Acquire"), body, timeout));
        } catch (SnowfenceException e) {
            if (!e.sent() || !held() && e.isFinal()) {
                earlier = e.sent() ? List.of() : before; // nothing was taken
            }
            throw e;
        }
        copied = held() ? copied : !before.isEmpty();
        ticket = g.ticket();
        node = g.node();
        from = g.from();
        earlier = List.of();
        return g;
    }

    private Map<String, Object> who() {
        Map<String, Object> body = new HashMap<>(request);
        if (node >= 0) {
            body.put("free", true);
            body.put("prefer", Long.toString(node));
        }
        if (!lost.isEmpty()) {
            body.put("lost", lost);
        }
        return body;
    }

    /** Reads a grant, and refuses one that was not asked for: the attempt then had no answer. */
    private Grant read(Map<String, Object> answer) {
        Grant g;
        boolean sound;
        try {
            g = Grant.of(answer);
            sound = g.isSound();
        } catch (RuntimeException e) { // a field is missing, or of another kind
            throw unreachable(server.address + ": the answer is damaged: " + e, true);
        }
        if (!sound || held() && (g.node() != node || g.from() < from)) {
            throw unreachable(server.address + ": the answer has node " + g.node()
                + " and the ticks " + g.from() + " to "
                + g.until() + ", which were not asked for", true);
        }
        return g;
    }

    /** Begins anew, and tells the server which ticket was lost. */
    void lost() {
        lost = ticket;
        leave();
    }

    /** Begins anew. */
    void leave() {
        ticket = "";
        earlier = List.of();
    }

    /** Notes that a grant is held that made the lost one good. */
    void healed() {
        lost = "";
    }

    /**
     * Gives the node back, in five seconds.
     * What had no answer is settled first, because the node is ours if it worked.
     */
    void release(long used) {
        long end = System.nanoTime() + Duration.ofSeconds(5).toNanos();
        while ((held() || !earlier.isEmpty()) && System.nanoTime() < end) {
            try {
                if (!earlier.isEmpty()) {
                    long before = node;
                    Grant g = ask(Duration.ofSeconds(2));
                    used = g.node() == before ? Math.max(used, g.from()) : g.from();
                }
                server.call("LeaseService/Release", copied ? Map.of("ticket", ticket)
                    : Map.of("ticket", ticket, "used", Long.toString(used)), Duration.ofSeconds(2));
                leave();
            } catch (SnowfenceException e) {
                if (e.isFinal() || e.lost() || e.elsewhere()) {
                    leave();
                }
                pause();
            }
        }
        leave(); // the node is free when its time is over
    }

    private static void pause() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

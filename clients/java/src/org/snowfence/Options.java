package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Which node a generator leases, and how it makes IDs. Each method changes one thing and returns the options. */
public final class Options {
    String server;
    String token;
    String namespace = "default";
    String label = host() + "/" + ProcessHandle.current().pid();
    Map<String, Long> within = Map.of();
    Duration ttl;
    long lead;
    Duration maxWait = Duration.ofSeconds(5);

    /** Begins with what is right for most programs. */
    public Options() {}

    /** The address: http://HOST:PORT, https://HOST or unix:/PATH. Else SNOWFENCE_SERVER, or http://127.0.0.1:8080. */
    public Options server(String address) {
        server = address;
        return this;
    }

    /** What the server asks for, with the verb lease. Without it SNOWFENCE_TOKEN. */
    public Options token(String secret) {
        check(secret == null || secret.chars().allMatch(c -> c > ' ' && c < 127),
            "token is the server's text, in one line");
        token = secret;
        return this;
    }

    /** The namespace of the IDs; "default" without it. */
    public Options namespace(String name) {
        check(name != null && !name.isEmpty(), "namespace must be a name, such as shop");
        namespace = name;
        return this;
    }

    /** Says to people which program holds the node. Without it the host and the process ID. */
    public Options label(String text) {
        check(text != null, "label is a text for people, such as web-1");
        label = text;
        return this;
    }

    /** Which nodes, by parts of the layout, as in Map.of("datacenter", 3L). */
    public Options within(Map<String, Long> parts) {
        check(parts != null && parts.entrySet().stream().allMatch(p -> p.getKey() != null && p.getValue() != null
            && p.getValue() >= 0), "within has numbers of parts, as in Map.of(\"datacenter\", 3L), and not " + parts);
        within = Map.copyOf(parts);
        return this;
    }

    /** How long the node is held without a renewal; else 15 s. IDs go on for two thirds of it without a server. */
    public Options ttl(Duration time) {
        check(time != null && !time.isNegative() && !time.isZero() && time.getSeconds() < 1_000_000_000,
            "ttl is a time above 0, such as Duration.ofSeconds(15), and not " + time);
        ttl = time;
        return this;
    }

    /** How many ticks IDs may run ahead of the clock; 0 without it. */
    public Options lead(long ticks) {
        check(ticks >= 0 && ticks < 1L << 53, "lead is from 0 to 2^53 - 1 ticks, and not " + ticks);
        lead = ticks;
        return this;
    }

    /** How long a call waits for a lease or for the clock before it throws; 5 s without it. */
    public Options maxWait(Duration time) {
        check(time != null && !time.isNegative() && time.getSeconds() < 1_000_000_000,
            "maxWait is a time from 0 up, such as Duration.ofSeconds(5), and not " + time);
        maxWait = time;
        return this;
    }

    private static String host() {
        try {
            return java.net.InetAddress.getLocalHost().getHostName();
        } catch (java.net.UnknownHostException e) {
            return "java"; // a machine that does not know its own name
        }
    }

    /** What an Acquire asks for. */
    Map<String, Object> request() {
        Map<String, Object> body = new HashMap<>(Map.of("namespace", namespace, "label", label));
        if (!within.isEmpty()) {
            Map<String, String> parts = new HashMap<>();
            within.forEach((part, number) -> parts.put(part, number.toString()));
            body.put("within", parts);
        }
        if (ttl != null) {
            body.put("ttl", String.format(Locale.ROOT, "%d.%09ds", ttl.getSeconds(), ttl.getNano()));
        }
        return body;
    }
}

package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the spec string of a layout says, by docs/reference/specification.md. */
final class Spec {
    private static final Set<String> OTHER = Set.of("epoch", "tick", "first", "last", "cipher", "order");
    private static final Map<String, Long> UNITS = Map.of("ns", 1L, "us", 1_000L, "\u00b5s", 1_000L, "\u03bcs", 1_000L,
        "ms", 1_000_000L, "s", 1_000_000_000L, "m", 60_000_000_000L, "h", 3_600_000_000_000L);
    private static final Pattern PART = Pattern.compile("([0-9]+(?:\\.[0-9]+)?)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)");
    private static final Pattern INSTANT = Pattern.compile(
        "(\\d{4}-\\d\\d-\\d\\d)(?:T(\\d\\d:\\d\\d:\\d\\d)(?:\\.(\\d+))?(Z|[+-]\\d\\d:\\d\\d))?");

    private static final String BWMARRIN = "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z";
    private static final String RANDFLAKE = "time=30,node=17,seq=17,epoch=2024-10-27T03:33:20Z,tick=1s";
    private static final Map<String, String> NAMED = new TreeMap<>(Map.ofEntries(
        Map.entry("snowfence", "time=41,node=10,seq=12"), Map.entry("default", "time=41,node=10,seq=12"),
        Map.entry("twitter", BWMARRIN.replace("node=10", "datacenter=5,worker=5")),
        Map.entry("bwmarrin", BWMARRIN), Map.entry("leaf", BWMARRIN),
        Map.entry("sonyflake", "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms"),
        Map.entry("sonyflake-v1", "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms"),
        Map.entry("sonyflake-v2", "time=39,seq=8,node=16,tick=10ms"),
        Map.entry("drift", "time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,first=5"),
        Map.entry("discord", "time=42,worker=5,process=5,seq=12,epoch=2015-01-01"),
        Map.entry("instagram", "time=41,shard=13,seq=10,epoch=2011-08-24T21:07:01.721Z"),
        Map.entry("baidu", "time=28,node=22,seq=13,epoch=2016-05-19T16:00:00Z,tick=1s"),
        Map.entry("randflake", RANDFLAKE + ",cipher=sparx"), Map.entry("randflake-raw", RANDFLAKE),
        Map.entry("rollback", "time=41,node=8,rollback=2,seq=12,epoch=2020-01-01")));

    final List<Map.Entry<String, Integer>> fields = new ArrayList<>(); // from the highest bit down, with bits
    long epoch; // in ns since 1970
    long tick; // in ns
    long first;
    long last;
    String cipher;

    static Spec parse(String text) {
        try {
            check(text != null, "give a name such as bwmarrin, or a spec");
            return new Spec(NAMED.getOrDefault(text, text));
        } catch (SnowfenceException | ArithmeticException | DateTimeException | NumberFormatException e) {
            throw SnowfenceException.invalid("'" + text + "' is no layout: " + e.getMessage() + "; the names are "
                + String.join(", ", NAMED.keySet()));
        }
    }

    private Spec(String text) {
        Map<String, String> all = new LinkedHashMap<>();
        for (String pair : text.split(",", -1)) {
            String[] parts = pair.strip().split("=", 2);
            String key = parts[0].equals("sequence") ? "seq" : parts[0];
            check(parts.length == 2, "'" + pair.strip() + "' is no field, such as node=10");
            check(all.put(key, parts[1]) == null, key + " stands twice");
            if (!OTHER.contains(key)) {
                check(key.matches("[a-z][a-z0-9-]{0,31}"), "'" + key + "' is no name of a field");
                int bits = Math.toIntExact(Math.min(number(parts[1]), 65));
                check(bits > 0 || !key.equals("time"), "time has 0 bits");
                if (bits > 0) {
                    fields.add(Map.entry(key, bits));
                }
            }
        }
        order(all.get("order"));
        epoch = instant(all.getOrDefault("epoch", "2025-01-01"));
        tick = duration(all.getOrDefault("tick", "1ms"));
        check(bits("seq") <= 53, "seq is too wide");
        long top = (1L << bits("seq")) - 1;
        first = number(all.getOrDefault("first", "0"));
        last = number(all.getOrDefault("last", Long.toString(top)));
        check(first <= last && last <= top && !(last == 0 && all.containsKey("last")),
            "first to last do not fit into seq");
        cipher = all.getOrDefault("cipher", "");
        rules(all.containsKey("cipher"));
    }

    private void order(String order) {
        if (order == null) {
            return;
        }
        check(order.equals("node-first") || order.equals("node-last"), "order is node-first or node-last");
        int side = order.equals("node-first") ? -1 : 1;
        int tag = above().contains("tag") ? -2 : 0;
        fields.sort(Comparator.comparingInt(f -> switch (f.getKey()) { // stable
            case "key" -> -3;
            case "time", "scatter" -> -2;
            case "tag" -> tag;
            case "seq", "rollback" -> 0;
            default -> side;
        }));
    }

    private void rules(boolean encrypted) {
        List<String> names = fields.stream().map(Map.Entry::getKey).toList();
        boolean keyed = bits("key") > 0;
        check(names.contains("time"), "time is missing");
        check(names.indexOf("key") < 1, "key is the first field");
        check(!above().contains("seq") && !above().contains("rollback"), "seq and rollback stand below the time");
        int scatter = bits("scatter");
        check(scatter == 0 || above().contains("scatter"), "scatter stands above the time");
        check(scatter <= 12 && scatter + bits("seq") <= 53, "scatter has at most 12 bits, and 53 together with seq");
        check(scatter == 0 || !encrypted, "a cipher needs no scatter");
        check(bits("time") <= 62 && bits("rollback") <= 6 && bits("key") <= 16, "a field is too wide");
        check(width() <= 64, "it has " + width() + " bits, more than 64");
        check(tick >= 1000, "a tick takes at least 1us");
        check(!encrypted || cipher.equals("sparx") || cipher.equals("ff1"), "cipher is sparx or ff1");
        check(!keyed || cipher.equals("ff1"), "key needs cipher=ff1");
        check(!cipher.equals("ff1") || width() - bits("key") >= 20, "ff1 needs 20 bits beside key");
    }

    /** Returns the names of the fields above the time. */
    private List<String> above() {
        return fields.stream().map(Map.Entry::getKey).takeWhile(name -> !name.equals("time")).toList();
    }

    private int bits(String name) {
        return fields.stream().filter(f -> f.getKey().equals(name)).mapToInt(Map.Entry::getValue).sum();
    }

    int width() {
        return fields.stream().mapToInt(Map.Entry::getValue).sum();
    }

    private static long number(String text) {
        check(text.matches("[0-9]+"), "'" + text + "' is no number");
        return new BigInteger(text).min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
    }

    private static long instant(String text) {
        Matcher m = INSTANT.matcher(text);
        check(m.matches(), "epoch '" + text + "' is no time such as 2025-01-01T00:00:00Z");
        String clock = m.group(2) == null ? "00:00:00Z" : m.group(2) + m.group(4);
        Instant at = OffsetDateTime.parse(m.group(1) + "T" + clock).toInstant();
        int year = at.atOffset(ZoneOffset.UTC).getYear();
        check(year >= 1900 && year <= 2200, "epoch '" + text + "' is not in the years 1900 to 2200");
        String fraction = ((m.group(3) == null ? "" : m.group(3)) + "000000000").substring(0, 9);
        return at.getEpochSecond() * 1_000_000_000 + Long.parseLong(fraction);
    }

    private static long duration(String text) {
        Matcher m = PART.matcher(text);
        BigDecimal sum = BigDecimal.ZERO;
        int end = 0;
        for (; m.lookingAt(); m.region(end, text.length())) {
            BigDecimal ns = new BigDecimal(m.group(1)).multiply(BigDecimal.valueOf(UNITS.get(m.group(2))));
            sum = sum.add(ns.setScale(0, RoundingMode.DOWN));
            end = m.end();
        }
        check(end > 0 && end == text.length(), "tick '" + text + "' is no duration such as 1ms");
        return sum.longValueExact();
    }
}

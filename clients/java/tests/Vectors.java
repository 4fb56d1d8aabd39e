package org.snowfence;

import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/** Checks the vectors of the specification: java org.snowfence.Vectors FOLDER. Prints "ok" and how many it checked. */
final class Vectors {
    private final Path folder;
    private int checked;

    private Vectors(String folder) {
        this.folder = Path.of(folder);
    }

    public static void main(String[] args) throws Exception {
        Vectors v = new Vectors(args[0]);
        Object fields = v.load("fields.json"), ids = v.load("ids.json");
        for (Object all : List.of(v.load("layouts.json"), fields)) {
            v.layouts(all);
        }
        for (Object all : List.of(ids, fields)) {
            v.ids(all);
        }
        for (Map<String, Object> w : list(ids, "refused")) {
            v.refused(w, () -> new Layout(text(w, "layout")).decode(number(w, "id")));
        }
        v.tags(fields);
        v.ranges(fields);
        v.small();
        v.texts();
        v.grants(list(v.load("grants.json"), ""));
        v.grants(list(fields, "grants"));
        System.out.println("ok " + v.checked);
    }

    private Object load(String name) throws Exception {
        return Json.read(Files.readString(folder.resolve(name)));
    }

    @SuppressWarnings("unchecked") // the files have these shapes
    private static List<Map<String, Object>> list(Object of, String key) {
        return (List<Map<String, Object>>) (key.isEmpty() ? of : ((Map<String, Object>) of).get(key));
    }

    private static String text(Map<String, Object> v, String key) {
        return String.valueOf(v.getOrDefault(key, ""));
    }

    private static long number(Map<String, Object> v, String key) {
        return Long.parseLong(text(v, key));
    }

    private void equal(Object want, Object got, Object of) {
        checked++;
        if (!Objects.equals(want, got)) {
            throw new AssertionError(of + ": " + got + ", not " + want);
        }
    }

    private void refused(Object of, Runnable call) {
        checked++;
        try {
            call.run();
        } catch (SnowfenceException e) {
            equal(SnowfenceException.Kind.INVALID, e.kind(), of);
            return;
        }
        throw new AssertionError(of + " was taken");
    }

    private void layouts(Object all) {
        for (Map<String, Object> v : list(all, "valid")) {
            for (String spec : List.of(text(v, "spec"), text(v, "canonical"))) {
                Layout l = new Layout(spec);
                List<?> fields = l.fields.stream().map(f -> List.of(f.name(), (long) f.bits())).toList();
                equal(v.get("fields").toString().replace("sequence", "seq"), fields.toString(), spec);
                equal(List.of(number(v, "epoch_unix_ns"), number(v, "tick_ns"), number(v, "first"), number(v, "last"),
                    text(v, "cipher")), List.of(l.epoch, l.tick, l.first, l.last, l.cipher), spec);
            }
        }
        for (Object spec : (List<?>) ((Map<?, ?>) all).get("invalid")) {
            refused(spec, () -> new Layout((String) spec));
        }
    }

    private void ids(Object all) {
        for (Map<String, Object> v : list(all, "ids")) {
            Layout l = new Layout(text(v, "layout"));
            long id = number(v, "id");
            if (!l.cipher.isEmpty()) {
                refused(v, () -> l.decode(id));
                continue;
            }
            Layout.Parts p = l.decode(id);
            equal(List.of(number(v, "tick"), number(v, "node"), number(v, "sequence"), number(v, "rollback")),
                List.of(p.tick(), p.node(), p.sequence(), p.fields().getOrDefault("rollback", 0L)), v);
            long value = p.fields().getOrDefault("scatter", 0L), tag = p.fields().getOrDefault("tag", 0L);
            equal(v.getOrDefault("scatter", "0") + " " + v.getOrDefault("tag", "0"), value + " " + tag, v);
            equal(text(v, "unix_ns"), l.start(p.tick()).toString(), v);
            for (Map.Entry<?, ?> part : ((Map<?, ?>) v.get("parts")).entrySet()) {
                equal(part.getValue(), p.fields().get(part.getKey()).toString(), v);
            }
            if (number(v, "rollback") == 0 && tag == 0) {
                equal(id, l.compose(p.tick(), p.node(), p.sequence(), value), v);
            }
        }
    }

    private void tags(Object all) {
        for (Map<String, Object> v : list(all, "tags")) {
            Supplier<Long> tagged = () -> new Layout(text(v, "layout")).tag(number(v, "id"), number(v, "tag"));
            if (v.containsKey("tagged") && !text(v, "layout").contains("cipher")) {
                equal(number(v, "tagged"), tagged.get(), v);
            } else {
                refused(v, tagged::get);
            }
        }
        refused("no tag", () -> new Layout("bwmarrin").tag(5, 0));
    }

    private static Instant instant(Object ns) {
        BigInteger[] parts = new BigInteger(ns.toString()).divideAndRemainder(BigInteger.valueOf(1_000_000_000));
        return Instant.ofEpochSecond(parts[0].longValue(), parts[1].longValue());
    }

    private void ranges(Object all) {
        for (Map<String, Object> v : list(all, "ranges")) {
            Map<String, Long> within = new HashMap<>();
            ((Map<?, ?>) v.getOrDefault("within", Map.of())).forEach((k, n) -> within.put(k.toString(), Long.valueOf(n.toString())));
            List<?> have = new Layout(text(v, "layout"))
                .ranges(instant(v.get("from_unix_ns")), instant(v.get("to_unix_ns")), within)
                .map(r -> List.of(Long.toString(r.low()), Long.toString(r.high()))).toList();
            equal(v.get("ranges"), have, v);
        }
        Instant now = Instant.parse("2025-01-01T00:00:00Z"), later = Instant.parse("2100-01-01T00:00:00Z");
        Layout small = new Layout("tag=2,time=10,seq=3");
        refused("a span that ends first", () -> small.ranges(later, now, Map.of()));
        refused("a tag that does not fit", () -> small.ranges(now, later, Map.of("tag", 4L)));
        refused("a field below the time", () -> small.ranges(now, later, Map.of("seq", 1L)));
        refused("both signs", () -> new Layout("time=42,seq=22").ranges(now, later, Map.of()));
        refused("encrypted IDs", () -> new Layout("randflake").ranges(now, later, Map.of()));
    }

    /** Each ID of a small layout comes once: in order, and ranges find those of a span. */
    private void small() {
        for (String spec : List.of("time=4,node=2,seq=3", "scatter=2,time=4,node=2,seq=3", "scatter=3,time=3,node=2",
            "scatter=2,time=4", "node=1,scatter=2,rack=1,time=3,seq=2", "tag=2,time=3,node=2,seq=2",
            "time=3,seq=2,node=2,tag=1", "scatter=2,tag=1,time=3,seq=2,node=2",
            "scatter=2,time=3,node=1,seq=3,first=1,last=6", "scatter=1,time=3,seq=3,node=2,first=3,last=5")) {
            Layout l = new Layout(spec);
            int nodes = 1 << l.fields.stream().filter(Layout.Field::isPart).mapToInt(Layout.Field::bits).sum();
            int below = l.fields.stream().dropWhile(f -> !f.name().equals("time")).mapToInt(Layout.Field::bits).sum();
            List<Long> ids = new ArrayList<>();
            for (long node = 0; node < nodes; node++) {
                Stamps s = new Stamps(0);
                Map<Long, Long> last = new HashMap<>();
                for (long now = 0; now < l.ticks(); now++) {
                    s.grant(l, node, now - now % 3, now + 1);
                    for (long[] some = new long[5]; s.advance(now);) {
                        int n = s.run.take(some, 0, 1 + ids.size() % 5);
                        s.grant(l, node, now, l.ticks()); // from changes within a tick
                        for (int i = 0; i < n; i++) {
                            Layout.Parts p = l.decode(some[i]);
                            Long before = last.put(some[i] >>> below, some[i]);
                            equal(List.of(now, node, 0L, true), List.of(p.tick(), p.node(), p.fields().getOrDefault("tag", 0L),
                                before == null || before < some[i]), spec + " " + p);
                            ids.add(some[i]);
                        }
                    }
                }
            }
            equal(l.ticks() * nodes * l.slots, (long) ids.size(), spec);
            equal(ids.size(), Set.copyOf(ids).size(), spec);
            for (long tick = 0; tick < l.ticks(); tick += 3) {
                long first = tick;
                List<Layout.Range> ranges = l.ranges(instant(l.start(first)), instant(l.start(first + 2)), Map.of()).toList();
                equal(ids.stream().filter(id -> l.decode(id).tick() - first >= 0 && l.decode(id).tick() - first < 2).toList(),
                    ids.stream().filter(id -> ranges.stream().anyMatch(r -> r.low() <= id && id < r.high())).toList(), spec);
            }
        }
    }

    private void texts() throws Exception {
        Object all = load("texts.json");
        for (Map<String, Object> v : list(all, "texts")) {
            for (String encoding : v.keySet()) {
                if (!encoding.equals("id")) {
                    equal(text(v, encoding), Text.format(number(v, "id"), encoding), v);
                    equal(number(v, "id"), Text.parse(text(v, encoding), encoding), v);
                }
            }
        }
        for (Map<String, Object> v : list(all, "read")) {
            equal(number(v, "id"), Text.parse(text(v, "text"), text(v, "encoding")), v);
        }
        for (Map<String, Object> v : list(all, "refused")) {
            refused(v, () -> Text.parse(text(v, "text"), text(v, "encoding")));
        }
        for (Map<String, Object> v : list(all, "prefixed")) {
            if (v.containsKey("id")) {
                equal(number(v, "id"), Text.parse(text(v, "text"), text(v, "encoding"), text(v, "prefix")), v);
                equal(text(v, "text"), Text.format(number(v, "id"), text(v, "encoding"), text(v, "prefix")), v);
            } else {
                refused(v, () -> Text.parse(text(v, "text"), text(v, "encoding"), text(v, "prefix")));
            }
        }
        for (Object prefix : (List<?>) ((Map<?, ?>) all).get("bad_prefixes")) {
            refused(prefix, () -> Text.format(1, "dec", (String) prefix));
        }
    }

    private void grants(List<Map<String, Object>> scenes) {
        for (Map<String, Object> scene : scenes) {
            Layout l = new Layout(text(scene, "layout"));
            Stamps one = new Stamps(number(scene, "lead"));
            for (Map<String, Object> step : list(scene, "steps")) {
                if (step.containsKey("lost")) {
                    one.lost();
                } else if (step.containsKey("until")) {
                    one.grant(l, number(step, "node"), number(step, "from"), number(step, "until"));
                } else {
                    boolean some = one.advance(number(step, "now"));
                    long id = some ? one.run.at(one.run.take()) : 0;
                    id = some && step.containsKey("tag") ? l.tag(id, number(step, "tag")) : id;
                    equal(text(step, "id"), some ? Long.toString(id) : "", scene.get("name"));
                }
            }
        }
    }
}

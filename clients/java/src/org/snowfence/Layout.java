package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** How the bits of an ID are divided. It never changes, so threads may share it. */
public final class Layout {
    /** A field: its name, its bits, and the bits below it. */
    record Field(String name, int bits, int shift) {
        boolean isPart() {
            return !List.of("time", "seq", "rollback", "key", "scatter", "tag").contains(name);
        }

        long mask() {
            return -1L >>> 64 - bits;
        }
    }

    /** An ID taken apart. The fields have each part by its name in the layout. */
    public record Parts(long tick, Instant time, long node, long sequence, Map<String, Long> fields) {}

    /** The IDs from low up to, not including, high. */
    public record Range(long low, long high) {}

    private static final long GOLDEN = 0x9e3779b97f4a7c15L; // 2^64 by the golden ratio: its multiples are even
    private static final BigInteger SECOND = BigInteger.valueOf(1_000_000_000);

    final List<Field> fields = new ArrayList<>(); // from the highest bit down
    final long epoch; // in ns since 1970
    final long tick; // in ns
    final long first;
    final long last;
    final String cipher; // "" without one
    final long turn; // sequence numbers of one scatter value in a tick
    final long slots; // IDs of a node in a tick: turns with a scatter value of their own, one after the other
    private final Field scatter; // with 0 bits without one
    private final Field tag;
    private final String spec;
    private final int width;

    /** Reads a name such as bwmarrin, or a spec, such as time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms. */
    public Layout(String spec) {
        Spec s = Spec.parse(spec);
        this.spec = spec;
        epoch = s.epoch;
        tick = s.tick;
        first = s.first;
        last = s.last;
        cipher = s.cipher;
        width = s.width();
        int shift = width;
        for (Map.Entry<String, Integer> f : s.fields) {
            shift -= f.getValue();
            fields.add(new Field(f.getKey(), f.getValue(), shift));
        }
        scatter = field("scatter");
        tag = field("tag");
        turn = last - first + 1;
        slots = turn << scatter.bits;
    }

    private Field field(String name) {
        return fields.stream().filter(f -> f.name.equals(name)).findFirst().orElse(new Field(name, 0, 0));
    }

    @Override
    public String toString() {
        return spec;
    }

    /** Returns the tick of an instant, in ns since 1970. */
    long tickAt(long ns) {
        return Math.floorDiv(ns - epoch, tick); // within 64 bits in the years 1900 to 2200
    }

    /** Returns when a tick begins, in ns since 1970. */
    BigInteger start(long number) {
        return BigInteger.valueOf(number).multiply(BigInteger.valueOf(tick)).add(BigInteger.valueOf(epoch));
    }

    /** Returns from one sequence number to the next how far IDs are apart. */
    long step() {
        return 1L << field("seq").shift;
    }

    /** Returns how many ticks IDs can have. */
    long ticks() {
        return 1L << field("time").bits;
    }

    /**
     * Returns the ID of a slot of a tick.
     *
     * <p>The invariant: two turns of a tick never have one scatter value. So where a tick begins depends on nothing
     * but the node and the tick.
     */
    long at(long number, long node, long slot) {
        long begin = (node * GOLDEN + number) * GOLDEN >>> 64 - scatter.bits;
        return compose(number, node, first + slot % turn, begin + slot / turn & (1L << scatter.bits) - 1);
    }

    /** Puts the numbers together. One that does not fit is an error. */
    long compose(long number, long node, long sequence, long value) {
        long id = 0, rest = node;
        for (int i = fields.size(); i-- > 0;) {
            Field f = fields.get(i);
            long n = switch (f.name) {
                case "time" -> number;
                case "seq" -> sequence;
                case "scatter" -> value;
                default -> 0;
            };
            if (f.isPart()) {
                n = rest & f.mask();
                rest >>>= f.bits;
            }
            check((n & ~f.mask()) == 0, f.name + " " + n + " does not fit into the layout " + spec);
            id |= n << f.shift;
        }
        check(rest == 0 && (sequence == 0 || last > 0), "node " + node + " does not fit into the layout " + spec);
        return id;
    }

    /** Takes a plain ID apart. One of another or of an encrypted layout is INVALID. */
    public Parts decode(long id) {
        checkID(id);
        Map<String, Long> values = new LinkedHashMap<>();
        long node = 0;
        for (Field f : fields) {
            long value = id >>> f.shift & f.mask();
            values.put(f.name, value);
            if (f.isPart()) {
                node = node << f.bits | value;
            }
        }
        return new Parts(values.get("time"), time(values.get("time")), node, values.getOrDefault("seq", 0L),
            Collections.unmodifiableMap(values));
    }

    private void checkID(long id) {
        check(cipher.isEmpty(), "the layout " + spec + " is encrypted: ask a server about its IDs");
        check(width == 64 || id >>> width == 0, id + " is no ID of the layout " + spec + ": it has a bit above it");
    }

    /** Puts a number of the caller into the field tag of a plain ID. It stays different from all others. */
    public long tag(long id, long number) {
        checkTag(number);
        checkID(id);
        return id & ~(tag.mask() << tag.shift) | number << tag.shift;
    }

    /** Refuses a tag that does not fit. */
    void checkTag(long number) {
        check(tag.bits > 0, "the layout " + spec + " has no field tag: take one that has");
        checkFits(tag, number);
    }

    private static void checkFits(Field f, long n) {
        check((n & ~f.mask()) == 0, f.name + " " + n + ": its " + f.bits + " bits hold 0 to " + f.mask());
    }

    /**
     * Returns the half-open ranges of the IDs of a span of time, for queries such as {@code id >= low AND id < high}: one, or
     * one for each value of the fields above the time. The map fixes some of these, as in Map.of("tag", 7L).
     */
    public Stream<Range> ranges(Instant from, Instant to, Map<String, Long> within) {
        check(cipher.isEmpty(), "encrypted IDs are in no order: no range of them is a span of time");
        check(!to.isBefore(from), "the span ends before it begins");
        Field time = field("time");
        List<Field> above = fields.subList(0, fields.indexOf(time));
        int free = width - time.shift - time.bits;
        for (Map.Entry<String, Long> fixed : within.entrySet()) {
            Field f = field(fixed.getKey());
            check(above.contains(f), "the layout " + spec + " has no field " + f.name + " above the time");
            checkFits(f, fixed.getValue());
            free -= f.bits;
        }
        long a = tickFrom(from), b = tickFrom(to), half = 1L << time.bits - 1;
        check(width < 64 || !above.isEmpty() || a >= half || b <= half,
            "IDs turn negative in this span: ask for the times before and after");
        if (a == b) {
            return Stream.empty();
        }
        return LongStream.rangeClosed(0, free == 0 ? 0 : -1L >>> 64 - free).mapToObj(v -> {
            long base = 0, rest = v;
            for (int i = above.size(); i-- > 0;) {
                Field f = above.get(i);
                Long fixed = within.get(f.name);
                base |= (fixed == null ? rest & f.mask() : fixed) << f.shift;
                rest >>>= fixed == null ? f.bits : 0;
            }
            long end = base + (b << time.shift);
            return new Range(base + (a << time.shift), end == Long.MIN_VALUE ? Long.MAX_VALUE : end);
        });
    }

    /** Returns the first tick that starts at an instant or later, of those of the layout or the one after. */
    private long tickFrom(Instant at) {
        BigInteger since = BigInteger.valueOf(at.getEpochSecond()).multiply(SECOND).add(BigInteger.valueOf(at.getNano()))
            .subtract(BigInteger.valueOf(epoch));
        BigInteger[] parts = since.divideAndRemainder(BigInteger.valueOf(tick));
        BigInteger number = parts[0].add(BigInteger.valueOf(Math.max(parts[1].signum(), 0)));
        return number.max(BigInteger.ZERO).min(BigInteger.valueOf(ticks())).longValue();
    }

    private Instant time(long number) {
        BigInteger[] parts = start(number).divideAndRemainder(SECOND);
        boolean far = parts[0].compareTo(BigInteger.valueOf(Instant.MAX.getEpochSecond())) > 0;
        return far ? Instant.MAX : Instant.ofEpochSecond(parts[0].longValue(), parts[1].longValue());
    }
}

package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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

    private static final BigInteger SECOND = BigInteger.valueOf(1_000_000_000);

    final List<Field> fields = new ArrayList<>(); // from the highest bit down
    final long epoch; // in ns since 1970
    final long tick; // in ns
    final long first;
    final long last;
    final String cipher; // "" without one
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
        return fields.stream().filter(f -> f.name.equals("seq")).mapToLong(f -> 1L << f.shift).findFirst().orElse(0);
    }

    /** Returns how many ticks IDs can have. */
    long ticks() {
        return fields.stream().filter(f -> f.name.equals("time")).mapToLong(f -> 1L << f.bits).findFirst().orElse(0);
    }

    /** Puts the numbers together. One that does not fit is an error. */
    long compose(long number, long node, long sequence) {
        long id = 0, rest = node;
        for (int i = fields.size(); i-- > 0;) {
            Field f = fields.get(i);
            long value = f.name.equals("time") ? number : f.name.equals("seq") ? sequence : 0;
            if (f.isPart()) {
                value = rest & f.mask();
                rest >>>= f.bits;
            }
            check((value & ~f.mask()) == 0, f.name + " " + value + " does not fit into the layout " + spec);
            id |= value << f.shift;
        }
        check(rest == 0 && (sequence == 0 || last > 0), "node " + node + " does not fit into the layout " + spec);
        return id;
    }

    /** Takes a plain ID apart. One of another or of an encrypted layout is INVALID. */
    public Parts decode(long id) {
        check(cipher.isEmpty(), "the layout " + spec + " is encrypted: ask a server to decode its IDs");
        check(width == 64 || id >>> width == 0, id + " is no ID of the layout " + spec + ": it has a bit above it");
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

    private Instant time(long number) {
        BigInteger[] parts = start(number).divideAndRemainder(SECOND);
        boolean far = parts[0].compareTo(BigInteger.valueOf(Instant.MAX.getEpochSecond())) > 0;
        return far ? Instant.MAX : Instant.ofEpochSecond(parts[0].longValue(), parts[1].longValue());
    }
}

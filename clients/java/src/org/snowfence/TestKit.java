package org.snowfence;

import static org.snowfence.SnowfenceException.Kind.CLOSED;
import static org.snowfence.SnowfenceException.Kind.EXHAUSTED;
import static org.snowfence.SnowfenceException.Kind.FENCED;
import static org.snowfence.SnowfenceException.check;

import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;

/**
 * A generator for tests of programs that make IDs. The test moves its clock and causes its faults, and
 * needs no server. Kits of one seed make the same IDs, those of other seeds other ones.
 *
 * <p>Nothing waits: where a generator would wait for the next tick, the clock moves instead.
 */
public final class TestKit extends Generator {
    private static final long SECOND = 1_000_000_000;
    private static final long DAY = 86_400 * SECOND;

    private final Layout layout;
    private final Stamps stamps = new Stamps(0);
    private final long node;
    private long clock; // in ns since 1970
    private boolean lost;
    private boolean cut;
    private boolean still;
    private boolean ended;

    /** A kit with the layout of new namespaces. */
    public TestKit(long seed) {
        this(seed, "snowfence");
    }

    /** A kit with a layout of that name or spec. */
    public TestKit(long seed, String spec) {
        check(seed >= 0, "seed is from 0 up, and not " + seed);
        layout = new Layout(spec);
        check(layout.cipher.isEmpty(), "a kit makes plain IDs: give another layout than " + spec);
        long nodes = 1;
        for (Layout.Field f : layout.fields) {
            nodes <<= f.isPart() ? f.bits() : 0;
        }
        node = seed % nodes;
        long begin = Instant.parse("2026-01-01T00:00:00Z").getEpochSecond() * SECOND;
        clock = Math.max(begin, layout.epoch) + seed / nodes % 10_000 * DAY;
    }

    /** The time of the clock, for the code under test. */
    public synchronized Instant now() {
        return Instant.ofEpochSecond(0, clock);
    }

    @Override
    public long next() {
        return take(1)[0];
    }

    @Override
    public long nextFor(long tag) {
        layout.checkTag(tag);
        return layout.tag(next(), tag);
    }

    @Override
    public synchronized long[] take(int n) {
        check(n >= 0 && n <= 1_000_000, n + " IDs: n is 0 to 1,000,000");
        long[] ids = new long[n];
        for (int made = 0; made < n;) {
            if (ended) {
                throw new SnowfenceException(CLOSED, "the generator is closed: open another one");
            }
            renew();
            made += stamps.run.take(ids, made, n - made);
            if (made < n && !stamps.advance(tick())) {
                pass();
            }
        }
        return ids;
    }

    /** Moves the clock to the next tick, or says why there is none. */
    private void pass() {
        long next = stamps.next(tick());
        if (next >= stamps.until) {
            throw new SnowfenceException(FENCED, "no node is held now, as the test wants it: "
                + (lost ? "it was lost" : "no server answers"));
        }
        long begins = layout.start(next).min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
        if (still || begins - clock > 5 * SECOND) {
            throw new SnowfenceException(EXHAUSTED, "all numbers up to the clock are used, or it stepped back");
        }
        clock = begins;
    }

    private long tick() {
        return layout.tickAt(clock);
    }

    private void renew() {
        long until = layout.tickAt(clock + 15 * SECOND) + 1;
        if (!lost && !cut && until > stamps.until) {
            stamps.grant(layout, node, stamps.until == 0 ? tick() : stamps.from, until);
        }
    }

    @Override
    public Layout layout() {
        return layout;
    }

    /** Lets time pass. It ends sequenceFull. */
    public synchronized void advance(Duration time) {
        check(!time.isNegative(), "time does not go back: step sets the clock");
        still = false;
        step(time);
    }

    /** Sets the clock ahead or back. More than 5 s back, there are no IDs until it catches up. */
    public synchronized void step(Duration time) {
        stamps.settle();
        clock = Math.addExact(clock, time.toNanos());
    }

    /** Takes the node away: FENCED until restore. */
    public synchronized void loseLease() {
        lost = true;
        stamps.lost();
    }

    /** Stops renewals: IDs for up to 15 seconds of the clock, then FENCED, until restore. */
    public synchronized void storeUnreachable() {
        renew();
        cut = true;
    }

    /** Uses up all numbers and stops the clock: EXHAUSTED, until advance or restore. */
    public synchronized void sequenceFull() {
        renew();
        still = true;
        do {
            stamps.run.take(new long[4096], 0, 4096);
        } while (stamps.advance(tick()));
    }

    /** Ends all faults. Later IDs have later ticks. */
    public synchronized void restore() {
        lost = false;
        cut = false;
        still = false;
    }

    @Override
    public synchronized void close() {
        ended = true;
    }
}

package org.snowfence;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stamps IDs: the function next of docs/reference/specification.md. It knows no clock and no server.
 *
 * <p>The invariant: each ID has a tick in [from, until) of the grant, and of a node no pair of tick
 * and slot comes twice, because the last pair only goes up. The last pairs of all nodes are kept, also
 * over a loss. One thread at a time may call the methods; all may take from a run.
 */
final class Stamps {
    /** The slots that are left of a turn of a tick. Its counter says how many were taken. */
    static final class Run {
        private static final long CLOSED = 1L << 62; // above every count

        private final AtomicLong taken = new AtomicLong();
        final long tick;
        private final long first;
        private final long count;
        private final long id; // of the first slot
        private final long step;
        volatile long fresh; // until when IDs may be taken, in ms since 1970

        private Run(long tick, long first, long count, long id, long step) {
            this.tick = tick;
            this.first = first;
            this.count = count;
            this.id = id;
            this.step = step;
        }

        /** Takes up to n IDs, and returns how many. The first one is ids[at]. */
        int take(long[] ids, int at, int n) {
            long from = taken.getAndAdd(n);
            int got = (int) Math.max(0, Math.min(n, count - from));
            for (int i = 0; i < got; i++) {
                ids[at + i] = id + (from + i) * step;
            }
            return got;
        }

        /** Takes the place of one number; below 0 if none is left. */
        long take() {
            long place = taken.getAndIncrement();
            return place < count ? place : -1;
        }

        /** Returns the ID at a place that was taken. */
        long at(long place) {
            return id + place * step;
        }
    }

    private static final Run NONE = new Run(-1, 0, 0, 0, 0);

    final long lead; // in ticks
    volatile Run run = NONE;
    Layout layout; // null before the first grant
    long from;
    long until; // 0 without a grant
    private final Map<String, long[]> pairs = new HashMap<>(); // the last ones, by layout and node
    private long node;
    private long tick = -1;
    private long slot;

    Stamps(long lead) {
        this.lead = lead;
    }

    /** Begins a grant, or goes on with a renewed one. */
    void grant(Layout l, long number, long start, long end) {
        settle();
        if (layout != null) {
            pairs.put(layout + "/" + node, new long[] {tick, slot});
        }
        long[] pair = pairs.getOrDefault(l + "/" + number, new long[] {-1, l.slots - 1});
        tick = pair[0];
        slot = pair[1];
        layout = l;
        node = number;
        from = start;
        until = end;
    }

    /** Ends the grant: no ID is made before the next one. */
    void lost() {
        settle();
        until = 0;
    }

    /** Ends the run. Nothing is taken from it any more, and the last pair is known. */
    void settle() {
        Run r = run;
        run = NONE;
        long n = Math.min(r.taken.getAndSet(Run.CLOSED), r.count);
        if (n > 0 && r != NONE) {
            tick = r.tick;
            slot = r.first + n - 1;
        }
    }

    /** Begins the next run at the tick now of the clock. It is false if there is none yet. */
    boolean advance(long now) {
        settle();
        if (layout == null) {
            return false;
        }
        long t = next(now), s = t == tick ? slot + 1 : 0;
        if (t >= until || t > now + lead) {
            return false;
        }
        run = new Run(t, s, layout.turn - s % layout.turn, layout.at(t, node, s), layout.step());
        return true;
    }

    /** Returns the tick of the next ID at the tick now of the clock, wherever the grant ends. */
    long next(long now) {
        long t = slot < layout.slots - 1 ? tick : tick + 1;
        return Math.max(t, Math.max(now, from));
    }

    /** Returns the tick after the last one that was stamped, or the first one of the grant. */
    long used() {
        settle();
        return Math.max(tick + 1, from);
    }
}

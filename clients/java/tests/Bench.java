import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.snowfence.Generator;
import org.snowfence.Options;

/** Prints what an ID costs, in ns of wall time, the best of some rounds: java Bench NAMESPACE. */
public final class Bench {
    private static final int N = 1_000_000;
    private static volatile long sink;

    /** What people write: a lock, the clock, a counter. Its sequence has 22 bits, so that it need not wait. */
    private static final class Snowflake {
        private long last;
        private long sequence;

        synchronized long next() {
            long now = System.currentTimeMillis();
            sequence = now == last ? sequence + 1 : 0;
            last = now;
            return now << 23 | 1L << 22 | sequence;
        }
    }

    public static void main(String[] args) {
        AtomicLong counter = new AtomicLong();
        Snowflake other = new Snowflake();
        try (Generator ids = Generator.open(new Options().namespace(args[0]).lead(100_000))) {
            String[] names = {"a bare counter: AtomicLong", "snowfence, take(4096)", "snowfence, next",
                "a Snowflake class of 10 lines", "UUID.randomUUID"};
            LongSupplier[] rows = {
                () -> each(N, counter::incrementAndGet), () -> each(N / 4096, () -> ids.take(4096)[0]) / 4096,
                () -> each(N, ids::next), () -> each(N, other::next),
                () -> each(N / 20, () -> UUID.randomUUID().getLeastSignificantBits())};
            long[] best = new long[rows.length];
            java.util.Arrays.fill(best, Long.MAX_VALUE);
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < rows.length; i++) {
                    best[i] = Math.min(best[i], rows[i].getAsLong());
                }
            }
            for (int i = 0; i < rows.length; i++) {
                System.out.printf("%9.2f  %s%n", best[i] / 1000.0, names[i]);
            }
        }
    }

    /** Returns what a call costs, in ps. */
    private static long each(int n, LongSupplier call) {
        long sum = 0, start = System.nanoTime();
        for (int i = 0; i < n; i++) {
            sum += call.getAsLong();
        }
        sink = sum;
        return (System.nanoTime() - start) * 1000 / n;
    }
}

import org.snowfence.Generator;

/** Prints what an ID costs in Java, in ns: name and figure, the best of some. */
public final class Bench {
    /** What people write: a synchronized Snowflake. Its sequence has 22 bits, so that it need not wait. */
    static final class Snowflake {
        private static final long EPOCH = 1735689600000L;
        private static final int SEQUENCE_BITS = 22;
        private static final long MASK = (1L << SEQUENCE_BITS) - 1;
        private final long worker;
        private long last = -1;
        private long sequence;

        Snowflake(long worker) {
            this.worker = worker;
        }

        synchronized long next() {
            long now = System.currentTimeMillis();
            if (now < last) {
                throw new IllegalStateException("the clock went back");
            }
            if (now == last) {
                sequence = (sequence + 1) & MASK;
                while (sequence == 0 && now <= last) {
                    now = System.currentTimeMillis();
                }
            } else {
                sequence = 0;
            }
            last = now;
            return (now - EPOCH) << (SEQUENCE_BITS + 1) | worker << SEQUENCE_BITS | sequence;
        }
    }

    private static long sink;

    public static void main(String[] args) {
        Snowflake other = new Snowflake(1);
        try (Generator ids = Generator.openStatic(1, args[0], "lead=1000")) {
            double bestOther = 1e9;
            double best = 1e9;
            final int n = 1_000_000;
            for (int round = 0; round < 40; round++) {
                long start = System.nanoTime();
                for (int i = 0; i < n; i++) {
                    sink += other.next();
                }
                bestOther = Math.min(bestOther, (double) (System.nanoTime() - start) / n);
                start = System.nanoTime();
                for (int i = 0; i < n; i++) {
                    sink += ids.next();
                }
                best = Math.min(best, (double) (System.nanoTime() - start) / n);
            }
            System.out.printf("java-snowflake %.3f%njava-next %.3f%n", bestOther, best);
        }
        if (sink == 1) {
            System.out.println();
        }
    }
}

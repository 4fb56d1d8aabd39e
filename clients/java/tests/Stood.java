package org.snowfence;

import java.time.Duration;

/** Checks what happens after the process stood still: java org.snowfence.Stood. It needs SNOWFENCE_SERVER, and prints "ok". */
final class Stood {
    public static void main(String[] args) throws InterruptedException {
        try (Generator ids = Generator.open(new Options().maxWait(Duration.ofMinutes(1)))) {
            for (boolean asleep : new boolean[] {false, true}) {
                ids.next();
                Lease lease = ids.lease;
                lease.lock.lock();
                try {
                    long third = Duration.ofSeconds(5).toMillis();
                    if (asleep) {
                        lease.aliveWall -= third; // the steady clock slept with the machine
                    } else {
                        lease.alive -= third * 1_000_000;
                    }
                    if (lease.advance() || ids.stamps.run.take() >= 0 || lease.missing() == null) {
                        throw new AssertionError("IDs before a renewal");
                    }
                } finally {
                    lease.lock.unlock();
                }
                ids.next();
            }
            for (Thread t : Thread.getAllStackTraces().keySet()) {
                if (t.getName().equals("snowfence")) {
                    t.interrupt(); // as who ends all threads does
                    t.join();
                }
            }
            ids.next(); // of another thread
        }
        System.out.println("ok");
    }
}

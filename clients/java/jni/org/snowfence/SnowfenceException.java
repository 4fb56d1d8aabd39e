package org.snowfence;

import java.nio.charset.StandardCharsets;

/** What went wrong: what happened, to what, and what to do. */
public final class SnowfenceException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;

    SnowfenceException(int status, byte[] text) {
        super(new String(text, StandardCharsets.UTF_8));
        this.status = status;
    }

    /** The number of the status in snowfence.h. */
    public int status() {
        return status;
    }
}

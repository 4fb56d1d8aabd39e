package org.snowfence;

/** What happened, to what, and what to do. Programs look at its kind, people read its message. */
public final class SnowfenceException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What can go wrong. */
    public enum Kind {
        /** No grant is held: the lease was lost, or no server answers. IDs come again with the next grant. */
        FENCED,
        /** All numbers up to the clock are used, and it did not move on within the longest wait. */
        EXHAUSTED,
        /** The generator was closed. */
        CLOSED,
        /** A server refused a call. The message says what helps. */
        REFUSED,
        /** No answer came, or none that can be read. The server may have done what was asked. */
        UNREACHABLE,
        /** An argument, a text, a layout or an ID is not what it should be. */
        INVALID,
        /** The thread was interrupted while it waited. */
        INTERRUPTED
    }

    private final Kind kind;
    private final int status; // of HTTP, 0 if no server answered
    private final String reason; // the server's word, "" without one
    private final boolean sent; // whether the server may have the call

    SnowfenceException(Kind kind, String message) {
        this(kind, message, 0, "", true);
    }

    private SnowfenceException(Kind kind, String message, int status, String reason, boolean sent) {
        super(message);
        this.kind = kind;
        this.status = status;
        this.reason = reason;
        this.sent = sent;
    }

    static SnowfenceException invalid(String message) {
        return new SnowfenceException(Kind.INVALID, message);
    }

    static SnowfenceException refused(int status, String reason, String message) {
        return new SnowfenceException(Kind.REFUSED, message, status, reason, true);
    }

    static SnowfenceException unreachable(String message, boolean sent) {
        return new SnowfenceException(Kind.UNREACHABLE, message, 0, "", sent);
    }

    static void check(boolean ok, String message) {
        if (!ok) {
            throw invalid(message);
        }
    }

    /** Returns what went wrong. */
    public Kind kind() {
        return kind;
    }

    /** Returns the status of HTTP with which a server refused, or 0. */
    public int status() {
        return status;
    }

    boolean sent() {
        return sent;
    }

    /** Whether the lease is lost. A refusal without a reason is a proxy's. */
    boolean lost() {
        return (status == 404 || status == 409) && !reason.isEmpty();
    }

    /** Whether no renewal with the same ticket can succeed, and the grant goes on to its end. */
    boolean elsewhere() {
        return reason.equalsIgnoreCase("elsewhere") || status == 400 && !reason.isEmpty();
    }

    /** Whether the same call fails again, and changed nothing: a person must act. */
    boolean isFinal() {
        return switch (status) {
            case 400, 401, 403, 404, 412, 501 -> true;
            default -> false;
        };
    }
}

package org.snowfence;

import static org.snowfence.SnowfenceException.check;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;

/** The texts of IDs, as docs/reference/specification.md has them. Threads may share all of it. */
public final class Text {
    private static final String DIGITS = "0123456789";
    private static final String LOWER = "abcdefghijklmnopqrstuvwxyz";
    private static final String UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    private static final String LOWER58 = "abcdefghijkmnopqrstuvwxyz";
    private static final String UPPER58 = "ABCDEFGHJKLMNPQRSTUVWXYZ";
    private static final String CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    private static final String FIXED = "-fixed";
    private static final Map<String, String> ALPHABETS = Map.ofEntries(
        Map.entry("dec", DIGITS), Map.entry("hex", DIGITS + "abcdef"),
        Map.entry("base32hex", DIGITS + LOWER.substring(0, 22)),
        Map.entry("crockford", CROCKFORD), Map.entry("crockfordcheck", CROCKFORD),
        Map.entry("zbase32", "ybndrfg8ejkmcpqxot1uwisza345h769"), Map.entry("base36", DIGITS + LOWER),
        Map.entry("base58", DIGITS.substring(1) + UPPER58 + LOWER58),
        Map.entry("base58flickr", DIGITS.substring(1) + LOWER58 + UPPER58),
        Map.entry("base62", DIGITS + UPPER + LOWER), Map.entry("base64url", UPPER + LOWER + DIGITS + "-_"));

    private Text() {}

    /** Writes an ID in an encoding such as "dec", "base58" or "hex-fixed". */
    public static String format(long id, String encoding) {
        String abc = alphabet(encoding), base = base(encoding), out;
        if (!base.equals(encoding)) {
            out = sign(id < 0, abc) + digits(id & Long.MAX_VALUE, abc, width(abc));
        } else if (base.equals("dec")) {
            return Long.toString(id);
        } else if (base.equals("base64url")) {
            return Base64.getUrlEncoder().withoutPadding().encodeToString(ByteBuffer.allocate(8).putLong(id).array());
        } else {
            out = digits(id, abc, 1);
        }
        return base.equals("crockfordcheck") ? out + checkDigit(out) : out;
    }

    /** Writes an ID after a prefix, as in ord_3vgoe12ccb8gh. */
    public static String format(long id, String encoding, String prefix) {
        return checked(prefix) + format(id, encoding);
    }

    /** Reads the text of an ID. Every other text is INVALID. */
    public static long parse(String text, String encoding) {
        String abc = alphabet(encoding), base = base(encoding), no = "'" + text + "' is no ID in " + encoding;
        boolean fixed = !base.equals(encoding), negative = false;
        check(text != null && text.chars().allMatch(c -> c >= ' ' && c <= '~'), no);
        switch (base) {
            case "hex", "base32hex", "zbase32", "base36" -> text = text.toLowerCase(Locale.ROOT);
            case "crockford", "crockfordcheck" ->
                text = text.toUpperCase(Locale.ROOT).replace('O', '0').replace('I', '1').replace('L', '1');
            default -> { }
        }
        int longest = encoding.equals("dec") ? 20 : format(-1, encoding).length();
        boolean exact = fixed || base.equals("base64url");
        check(exact ? text.length() == longest : !text.isEmpty() && text.length() <= longest, no);
        String body = text;
        if (base.equals("crockfordcheck")) {
            body = text.substring(0, text.length() - 1);
            check(text != null && text.chars().allMatch(c -> c == '-' || CROCKFORD.indexOf(c) >= 0), no);
            check(text.charAt(text.length() - 1) == checkDigit(body), no + ": its check character does not fit");
        }
        if (fixed) {
            negative = body.startsWith("-");
            check(negative || body.startsWith(sign(false, abc)), no);
            body = body.substring(1);
        } else if (base.equals("dec") && body.startsWith("-")) {
            negative = true;
            body = body.substring(1);
            check(!body.startsWith("0"), no);
        }
        check(!body.isEmpty() && body.chars().allMatch(c -> abc.indexOf(c) >= 0), no);
        if (encoding.equals("base64url")) {
            long id = ByteBuffer.wrap(Base64.getUrlDecoder().decode(body)).getLong();
            check(format(id, encoding).equals(body), no);
            return id;
        }
        long u = number(body, abc, no);
        if (fixed) {
            check(u >= 0, no);
            return negative ? u | Long.MIN_VALUE : u;
        }
        if (base.equals("dec")) {
            check(u >= 0 || negative && u == Long.MIN_VALUE, no);
            return negative ? -u : u;
        }
        return u;
    }

    /** Reads the text of an ID after a prefix. Every other prefix, and none, is INVALID. */
    public static long parse(String text, String encoding, String prefix) {
        check(text != null && text.startsWith(checked(prefix)), "'" + text + "' does not begin with " + prefix + "_");
        return parse(text.substring(prefix.length() + 1), encoding);
    }

    private static String checked(String prefix) {
        check(prefix != null && prefix.matches("[a-z]([a-z0-9_]{0,61}[a-z0-9])?"), "'" + prefix
            + "' is no prefix: take up to 63 of a-z, 0-9 and _, a letter first, and no _ at the end");
        return prefix + "_";
    }

    private static String base(String encoding) {
        check(encoding != null, "encoding is a name, such as base32hex");
        return encoding.endsWith(FIXED) ? encoding.substring(0, encoding.length() - FIXED.length()) : encoding;
    }

    private static String alphabet(String encoding) {
        String abc = ALPHABETS.get(base(encoding));
        check(abc != null, "there is no encoding '" + encoding + "': take one of " + ALPHABETS.keySet());
        return !encoding.endsWith(FIXED) ? abc : abc.chars().sorted()
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
    }

    private static String sign(boolean negative, String abc) {
        return negative ? "-" : abc.charAt(0) == '-' ? "0" : abc.substring(0, 1);
    }

    private static int width(String abc) {
        return digits(Long.MAX_VALUE, abc, 1).length();
    }

    private static String digits(long u, String abc, int width) {
        StringBuilder out = new StringBuilder();
        for (; u != 0 || out.length() < width; u = Long.divideUnsigned(u, abc.length())) {
            out.append(abc.charAt((int) Long.remainderUnsigned(u, abc.length())));
        }
        return out.reverse().toString();
    }

    private static long number(String text, String abc, String no) {
        long u = 0;
        for (char c : text.toCharArray()) {
            long digit = abc.indexOf(c);
            check(Long.compareUnsigned(u, Long.divideUnsigned(-1 - digit, abc.length())) <= 0, no);
            u = u * abc.length() + digit;
        }
        return u;
    }

    private static char checkDigit(String text) {
        int sum = 0;
        for (char c : text.toCharArray()) {
            sum = (sum ^ (c == '-' ? 1 : CROCKFORD.indexOf(c))) << 1;
            sum ^= sum > 31 ? 37 : 0;
        }
        return CROCKFORD.charAt(sum);
    }
}

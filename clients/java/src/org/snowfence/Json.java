package org.snowfence;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON (RFC 8259). Objects are maps, arrays lists, numbers Long or Double. */
final class Json {
    private static final int DEEPEST = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads a text. Anything that is no JSON is an IllegalArgumentException. */
    static Object read(String text) {
        Json j = new Json(text);
        Object value = j.value(0);
        j.space();
        j.need(j.at == text.length());
        return value;
    }

    private void need(boolean ok) {
        if (!ok) {
            throw new IllegalArgumentException("no JSON at character " + at);
        }
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        space();
        need(at < text.length());
        return text.charAt(at);
    }

    private boolean skip(char c) {
        boolean there = peek() == c;
        at += there ? 1 : 0;
        return there;
    }

    private Object value(int depth) {
        need(depth < DEEPEST);
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> array(depth);
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object value) {
        need(text.startsWith(word, at));
        at += word.length();
        return value;
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> out = new LinkedHashMap<>();
        at++;
        if (skip('}')) {
            return out;
        }
        do {
            need(peek() == '"');
            String key = string();
            need(skip(':'));
            out.put(key, value(depth + 1));
        } while (skip(','));
        need(skip('}'));
        return out;
    }

    private List<Object> array(int depth) {
        List<Object> out = new ArrayList<>();
        at++;
        if (skip(']')) {
            return out;
        }
        do {
            out.add(value(depth + 1));
        } while (skip(','));
        need(skip(']'));
        return out;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        for (at++;;) {
            need(at < text.length());
            char c = text.charAt(at++);
            if (c == '"') {
                return out.toString();
            }
            need(c >= ' ');
            out.append(c == '\\' ? escaped() : c);
        }
    }

    private char escaped() {
        need(at < text.length());
        char c = text.charAt(at++);
        if (c == 'u') {
            String digits = text.substring(at, Math.min(at + 4, text.length()));
            need(digits.matches("[0-9A-Fa-f]{4}"));
            at += 4;
            return (char) Integer.parseInt(digits, 16);
        }
        int i = "\"\\/bfnrt".indexOf(c);
        need(i >= 0);
        return "\"\\/\b\f\n\r\t".charAt(i);
    }

    private Number number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        need(digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?"));
        return digits.matches("-?[0-9]{1,18}") ? (Number) Long.valueOf(digits) : Double.valueOf(digits);
    }

    /** Writes maps, lists, texts and booleans, and everything else as it prints itself. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> e : map.entrySet()) {
                out.append(before);
                write(out, e.getKey().toString());
                out.append(':');
                write(out, e.getValue());
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String before = "[";
            for (Object element : list) {
                out.append(before);
                write(out, element);
                before = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof String s) {
            out.append('"');
            for (char c : s.toCharArray()) {
                if (c < ' ' || c == '"' || c == '\\') {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            out.append('"');
        } else {
            out.append(value);
        }
    }
}

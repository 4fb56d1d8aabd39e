package org.snowfence;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Checks the vectors of the specification: java org.snowfence.Vectors FOLDER. Prints "ok" and how many it checked. */
final class Vectors {
    private final Path folder;
    private int checked;

    private Vectors(String folder) {
        this.folder = Path.of(folder);
    }

    public static void main(String[] args) throws Exception {
        Vectors v = new Vectors(args[0]);
        v.layouts();
        v.ids();
        v.texts();
        v.grants();
        System.out.println("ok " + v.checked);
    }

    private Object load(String name) throws Exception {
        return Json.read(Files.readString(folder.resolve(name)));
    }

    @SuppressWarnings("unchecked") // the files have these shapes
    private static List<Map<String, Object>> list(Object of, String key) {
        return (List<Map<String, Object>>) (key.isEmpty() ? of : ((Map<String, Object>) of).get(key));
    }

    private static String text(Map<String, Object> v, String key) {
        return String.valueOf(v.getOrDefault(key, ""));
    }

    private static long number(Map<String, Object> v, String key) {
        return Long.parseLong(text(v, key));
    }

    private void equal(Object want, Object got, Object of) {
        checked++;
        if (!Objects.equals(want, got)) {
            throw new AssertionError(of + ": " + got + ", not " + want);
        }
    }

    private void refused(Object of, Runnable call) {
        checked++;
        try {
            call.run();
        } catch (SnowfenceException e) {
            equal(SnowfenceException.Kind.INVALID, e.kind(), of);
            return;
        }
        throw new AssertionError(of + " was taken");
    }

    private void layouts() throws Exception {
        Object all = load("layouts.json");
        for (Map<String, Object> v : list(all, "valid")) {
            for (String spec : List.of(text(v, "spec"), text(v, "canonical"))) {
                Layout l = new Layout(spec);
                List<?> fields = l.fields.stream().map(f -> List.of(f.name(), (long) f.bits())).toList();
                equal(v.get("fields").toString().replace("sequence", "seq"), fields.toString(), spec);
                equal(List.of(number(v, "epoch_unix_ns"), number(v, "tick_ns"), number(v, "first"), number(v, "last"),
                    text(v, "cipher")), List.of(l.epoch, l.tick, l.first, l.last, l.cipher), spec);
            }
        }
        for (Object spec : (List<?>) ((Map<?, ?>) all).get("invalid")) {
            refused(spec, () -> new Layout((String) spec));
        }
    }

    private void ids() throws Exception {
        Object all = load("ids.json");
        for (Map<String, Object> v : list(all, "ids")) {
            Layout l = new Layout(text(v, "layout"));
            long id = number(v, "id");
            if (!l.cipher.isEmpty()) {
                refused(v, () -> l.decode(id));
                continue;
            }
            Layout.Parts p = l.decode(id);
            equal(List.of(number(v, "tick"), number(v, "node"), number(v, "sequence"), number(v, "rollback")),
                List.of(p.tick(), p.node(), p.sequence(), p.fields().getOrDefault("rollback", 0L)), v);
            equal(text(v, "unix_ns"), l.start(p.tick()).toString(), v);
            for (Map.Entry<?, ?> part : ((Map<?, ?>) v.get("parts")).entrySet()) {
                equal(part.getValue(), p.fields().get(part.getKey()).toString(), v);
            }
            if (number(v, "rollback") == 0) {
                equal(id, l.compose(p.tick(), p.node(), p.sequence()), v);
            }
        }
        for (Map<String, Object> v : list(all, "refused")) {
            refused(v, () -> new Layout(text(v, "layout")).decode(number(v, "id")));
        }
    }

    private void texts() throws Exception {
        Object all = load("texts.json");
        for (Map<String, Object> v : list(all, "texts")) {
            for (String encoding : v.keySet()) {
                if (!encoding.equals("id")) {
                    equal(text(v, encoding), Text.format(number(v, "id"), encoding), v);
                    equal(number(v, "id"), Text.parse(text(v, encoding), encoding), v);
                }
            }
        }
        for (Map<String, Object> v : list(all, "read")) {
            equal(number(v, "id"), Text.parse(text(v, "text"), text(v, "encoding")), v);
        }
        for (Map<String, Object> v : list(all, "refused")) {
            refused(v, () -> Text.parse(text(v, "text"), text(v, "encoding")));
        }
        for (Map<String, Object> v : list(all, "prefixed")) {
            if (v.containsKey("id")) {
                equal(number(v, "id"), Text.parse(text(v, "text"), text(v, "encoding"), text(v, "prefix")), v);
                equal(text(v, "text"), Text.format(number(v, "id"), text(v, "encoding"), text(v, "prefix")), v);
            } else {
                refused(v, () -> Text.parse(text(v, "text"), text(v, "encoding"), text(v, "prefix")));
            }
        }
        for (Object prefix : (List<?>) ((Map<?, ?>) all).get("bad_prefixes")) {
            refused(prefix, () -> Text.format(1, "dec", (String) prefix));
        }
    }

    private void grants() throws Exception {
        for (Map<String, Object> scene : list(load("grants.json"), "")) {
            Layout l = new Layout(text(scene, "layout"));
            Stamps one = new Stamps(number(scene, "lead"));
            for (Map<String, Object> step : list(scene, "steps")) {
                if (step.containsKey("lost")) {
                    one.lost();
                } else if (step.containsKey("until")) {
                    one.grant(l, number(step, "node"), number(step, "from"), number(step, "until"));
                } else {
                    boolean some = one.advance(number(step, "now"));
                    equal(text(step, "id"), some ? String.valueOf(one.run.at(one.run.take())) : "", scene.get("name"));
                }
            }
        }
    }
}

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.time.Instant;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import org.snowfence.Generator;
import org.snowfence.Options;

/** An agent that freezes Instant.now, as tests that mock it do, and a program that makes IDs then. */
public final class Frozen {
    public static void premain(String arguments, Instrumentation jvm) throws Exception {
        jvm.redefineClasses(new ClassDefinition(Instant.class, frozen(new ClassReader("java.time.Instant"))));
    }

    private static byte[] frozen(ClassReader instant) {
        ClassWriter out = new ClassWriter(0);
        instant.accept(new ClassVisitor(Opcodes.ASM8, out) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
                MethodVisitor method = super.visitMethod(access, name, type, generic, thrown);
                if (!name.equals("now") || !type.startsWith("()")) {
                    return method;
                }
                method.visitCode();
                method.visitFieldInsn(Opcodes.GETSTATIC, "java/time/Instant", "EPOCH", "Ljava/time/Instant;");
                method.visitInsn(Opcodes.ARETURN);
                method.visitMaxs(1, 0);
                method.visitEnd();
                return null;
            }
        }, 0);
        return out.toByteArray();
    }

    public static void main(String[] namespaces) {
        if (!Instant.now().equals(Instant.EPOCH)) {
            throw new AssertionError("the clock is not frozen");
        }
        for (String namespace : namespaces) {
            try (Generator ids = Generator.open(new Options().namespace(namespace))) {
                long first = ids.next(), last = first;
                for (int i = 0; i < 4 * 4096; i++) { // more than a tick has numbers
                    last = ids.next();
                }
                if (last >> 18 == first >> 18) {
                    throw new AssertionError("the clock of the IDs stands: " + namespace);
                }
            }
        }
        System.out.println("ok");
    }
}

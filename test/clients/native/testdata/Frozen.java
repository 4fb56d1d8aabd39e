import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.time.Clock;
import java.time.Instant;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import org.snowfence.Generator;
import org.snowfence.Options;

/** An agent that freezes java.time, as tests with a mocked Instant or Clock do, and a program that makes IDs then. */
public final class Frozen {
    public static void premain(String arguments, Instrumentation jvm) throws Exception {
        jvm.redefineClasses(new ClassDefinition(Clock.class, frozen(new ClassReader("java.time.Clock"))));
    }

    private static byte[] frozen(ClassReader clock) {
        ClassWriter out = new ClassWriter(0);
        clock.accept(new ClassVisitor(Opcodes.ASM8, out) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
                MethodVisitor method = super.visitMethod(access, name, type, generic, thrown);
                if (!name.equals("currentInstant")) {
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

    public static void main(String[] arguments) {
        if (!Instant.now().equals(Instant.EPOCH) || !Clock.systemUTC().instant().equals(Instant.EPOCH)) {
            throw new AssertionError("the clock is not frozen");
        }
        try (Generator ids = Generator.open(new Options())) {
            long first = ids.next(), last = first;
            for (int i = 0; i < 4 * 4096; i++) { // more than a tick has numbers
                last = ids.next();
            }
            if (last >> 22 == first >> 22) {
                throw new AssertionError("the clock of the IDs stands");
            }
        }
        System.out.println("ok");
    }
}

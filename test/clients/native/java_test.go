package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// compile compiles the client in a folder and its tests, and returns a class path.
func compile(t *testing.T, folder string) string {
	t.Helper()
	servers.Need(t, "java", "javac", "java")
	out := t.TempDir()
	for _, pattern := range []string{"src/module-info.java src/org/snowfence/*.java", "tests/*.java"} {
		run(t, folder, "javac -Xlint:all -Werror --release 17 -cp "+out+" -d "+out+" "+pattern)
		if err := os.RemoveAll(filepath.Join(out, "module-info.class")); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestJava(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	url, classes := serve(t, t.TempDir()), compile(t, clients+"/java")
	run(t, ".", "curl -fsS -X PUT -d {} "+url+"/v1/bills/sequence")
	for _, program := range []string{"Test", "org.snowfence.Stood"} {
		if out := run(t, ".", "java -cp "+classes+" "+program, "SNOWFENCE_SERVER="+url); out != "ok\n" {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// The program of the page makes IDs with the jar alone, and the other files are whole.
func TestJavaPackage(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	servers.Need(t, "java", "javac", "java", "jar")
	url, dir := serve(t, t.TempDir()), t.TempDir()
	run(t, root, "scripts/java.sh "+dir)
	write(t, dir, map[string]string{"Main.java": block(t, "java.md", "Make IDs", url)})
	jars, err := filepath.Glob(filepath.Join(dir, "snowfence-*"))
	if err != nil || len(jars) != 3 {
		t.Fatal(jars, err)
	}
	jar := strings.TrimSuffix(jars[2], ".pom") + ".jar"
	t.Log(run(t, dir, "java -cp "+jar+" Main.java"))
	t.Log(run(t, dir, "java --module-path "+jar+" --add-modules org.snowfence Main.java"))
	list := run(t, dir, "jar --list --file "+jars[0])
	if !strings.Contains(list, "org/snowfence/Lease.java") {
		t.Errorf("the sources are not in %s: %s", jars[0], list)
	}
}

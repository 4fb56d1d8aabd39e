package native

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// compile compiles the client in a folder and its tests, and returns a
// class path.
func compile(t *testing.T, folder string) string {
	t.Helper()
	servers.Need(t, "java", "javac", "java")
	out := t.TempDir()
	for _, pattern := range []string{"src/module-info.java src/org/snowfence/*.java", "tests/*.java"} {
		run(t, folder, "javac -Xlint:all -Werror --release 17 -cp "+out+" -d "+out+" "+pattern)
		must(t, os.RemoveAll(filepath.Join(out, "module-info.class")))
	}
	return out
}

func TestJava(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	url, classes := serve(t, t.TempDir()), compile(t, clients+"/java")
	run(t, ".", "curl -fsS -X PUT -d {} "+url+"/v1/bills/sequence")
	for name, layout := range map[string]string{
		"tagged": "time=30,tag=3,node=8,seq=20,tick=1s", "spread": "scatter=3,time=41,node=4,seq=2",
	} {
		run(t, ".", "curl -fsS -X PUT -d '{\"layout\":\""+layout+"\"}' "+url+"/v1/"+name)
	}
	for _, program := range []string{"Test", "org.snowfence.Stood"} {
		if out := run(t, ".", "java -cp "+classes+" "+program, "SNOWFENCE_SERVER="+url); out != "ok\n" {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// The lease goes on after grants by wrong clocks: it cannot give the first
// one back, and not reckon with the second. After an error it does not say
// what it used: a copy may have the answer.
func TestJavaGoesOnAfterARefusedGrant(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	classes, dir := compile(t, clients+"/java"), t.TempDir()
	var acquired atomic.Int64
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tick := time.Since(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).Milliseconds()
		now := time.Now().UTC().Format(time.RFC3339)
		if strings.HasSuffix(r.URL.Path, "/Acquire") && acquired.Add(1) <= 2 {
			now = []string{"2025-01-01T00:00:00Z", "+1000000000-12-31T00:00:00Z"}[acquired.Load()-1]
		}
		body, err := io.ReadAll(r.Body)
		release := strings.HasSuffix(r.URL.Path, "/Release")
		if release && acquired.Load() == 1 || !release && acquired.Load() == 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else if release && (err != nil || strings.Contains(string(body), `"used"`)) {
			t.Errorf("%s %v", body, err)
		}
		fmt.Fprintf(w, `{"layout": "time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms", "ticket": "eA==",
			"from": "%d", "until": "%d", "renew_after": "5s", "now": %q}`, tick, tick+15000, now)
	}))
	t.Cleanup(fake.Close)
	write(t, dir, map[string]string{"Main.java": `import org.snowfence.*;
		class Main { public static void main(String[] args) {
			try (Generator ids = Generator.open(new Options().maxWait(java.time.Duration.ofMinutes(1)))) { ids.next(); }
		} }`})
	run(t, dir, "java -cp "+classes+" Main.java", "SNOWFENCE_SERVER="+fake.URL)
}

// A frozen Instant.now, as with a mock, costs no wait, whatever the tick.
func TestJavaWithAFrozenClock(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	url, classes := serve(t, t.TempDir()), compile(t, clients+"/java")
	run(t, ".", "curl -fsS -X PUT -d '{\"layout\":\"time=45,node=6,seq=12,tick=100us\"}' "+url+"/v1/fine")
	exports := "--add-exports java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED "
	run(t, ".", "javac "+exports+"-cp "+classes+" -d "+classes+" testdata/Frozen.java")
	manifest := map[string]string{"agent.txt": "Premain-Class: Frozen\nCan-Redefine-Classes: true\n"}
	write(t, classes, manifest)
	run(t, classes, "jar --create --file agent.jar --manifest agent.txt Frozen*.class")
	out := run(t, ".", "java "+exports+"-javaagent:"+classes+"/agent.jar -cp "+classes+" Frozen default fine",
		"SNOWFENCE_SERVER="+url)
	if out != "ok\n" {
		t.Error(out)
	}
}

// The programs for frameworks, which have the lines of the page, run with
// Debian's jars. Spring 4.3 cannot make the proxies of @Configuration on
// Java 17.
func TestJavaFrameworks(t *testing.T) {
	links(t, "java.md", "frameworks", "Spring.java", "Hibernate.java")
	servers.Later(t)
	t.Parallel()
	url, classes := serve(t, t.TempDir()), compile(t, clients+"/java")
	for section, jars := range map[string]string{
		"Spring": "spring3-{context,beans,core,aop,expression}.jar commons-logging.jar",
		"Hibernate": "hibernate{3,-commons-annotations}.jar geronimo-jpa_2.0_spec.jar geronimo-jta-1.2-spec.jar dom4j.jar " +
			"antlr.jar commons-collections3.jar slf4j-{api,nop}.jar hsqldb.jar javassist.jar",
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{"Main.java": framework(t, "java.md", section+".java", url)})
			path := classes + ":" + strings.Join(strings.Fields(run(t, "/usr/share/java", "ls -d $PWD/"+
				strings.ReplaceAll(jars, " ", " $PWD/"))), ":")
			compile := "javac -proc:none -cp " + path + " Main.java; "
			out := run(t, dir, compile+"sed -i /^@Configuration/d Main.java; "+compile+"java -cp .:"+path+" Main 2>log")
			if !regexp.MustCompile(`^\[?\d{17,19}\]?\n$`).MatchString(out) {
				t.Error(out)
			}
		})
	}
}

// The program of the page makes IDs with the jar alone, and the other files
// are what Maven Central asks for.
func TestJavaPackage(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	servers.Need(t, "java", "javac", "java", "jar")
	url, dir := serve(t, t.TempDir()), t.TempDir()
	run(t, root, "scripts/java.sh "+dir)
	write(t, dir, map[string]string{"Main.java": block(t, "java.md", "Make IDs", url)})
	jars, err := filepath.Glob(filepath.Join(dir, "snowfence-*"))
	if err != nil || len(jars) != 4 {
		t.Fatal(jars, err)
	}
	jar := jars[2]
	t.Log(run(t, dir, "java -cp "+jar+" Main.java"))
	t.Log(run(t, dir, "java --module-path "+jar+" --add-modules org.snowfence Main.java"))
	for i, file := range []string{"org/snowfence/Generator.html", "org/snowfence/Lease.java"} {
		if list := run(t, dir, "jar --list --file "+jars[i]); !strings.Contains(list, file) {
			t.Errorf("%s is not in %s: %s", file, jars[i], list)
		}
	}
	var pom struct {
		Group    string   `xml:"groupId"`
		Artifact string   `xml:"artifactId"`
		Version  string   `xml:"version"`
		Name     string   `xml:"name"`
		About    string   `xml:"description"`
		URL      string   `xml:"url"`
		Licence  []string `xml:"licenses>license>url"`
		Who      []string `xml:"developers>developer>name"`
		SCM      []string `xml:"scm>connection"`
		Push     []string `xml:"scm>developerConnection"`
		Browse   []string `xml:"scm>url"`
	}
	text, err := os.ReadFile(jars[3])
	if err == nil {
		err = xml.Unmarshal(text, &pom)
	}
	for i, fields := 0, reflect.ValueOf(pom); i < fields.NumField(); i++ {
		if fields.Field(i).Len() == 0 || err != nil {
			t.Errorf("%s: no %s, %v", jars[3], fields.Type().Field(i).Name, err)
		}
	}
}

package clib

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// fake builds the shim and rings over a Go part that is none, from sources
// in a folder.
func fake(t *testing.T, sources string, flags ...string) string {
	t.Helper()
	servers.Need(t, "gcc", "gcc")
	return compile(t, append(flags, "-I"+sources, "-DSNOWFENCE_ARCHIVE", "testdata/fakecheck.c", "testdata/fake.c",
		filepath.Join(sources, "shim.c"), filepath.Join(sources, "calls.c"), filepath.Join(sources, "ring.c"),
		"-lpthread", "-ldl")...)
}

const sources = "../../../cmd/libsnowfence/c"

func TestFake(t *testing.T) {
	t.Parallel()
	run(t, fake(t, sources), "forks", "looks")
}

func TestThreadSanitizer(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	run(t, fake(t, sources, "-fsanitize=thread"))
}

func TestValgrind(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	valgrind := servers.Need(t, "valgrind", "valgrind")[0]
	path := fake(t, sources, "-DEACH=2000")
	run(t, valgrind, "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite", path)
	run(t, valgrind, "-q", "--error-exitcode=9", "--leak-check=no", path, "forks")
}

// pop is how a ring takes an ID, and looks whether it may give it out.
const pop = `	taken = ring->buf[ring->at++];
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* first it is taken, and then comes the look */
	if (__atomic_load_n(ring->beat, __ATOMIC_ACQUIRE) != ring->seen ||
	    __atomic_load_n(ring->machine, __ATOMIC_ACQUIRE) != ring->made_on)
		return 0;
	*id = taken;
`

// Each check of the shim and the ring is needed: without it the scenes over
// the fake fail.
func TestEachCheckIsNeeded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, old, new string }{
		"the ring compares the beat": {
			"snowfence.h", "__atomic_load_n(ring->beat, __ATOMIC_ACQUIRE) != ring->seen ||\n\t    ", "",
		},
		"the ring compares the machine": {
			"snowfence.h", " ||\n\t    __atomic_load_n(ring->machine, __ATOMIC_ACQUIRE) != ring->made_on", "",
		},
		"any other machine counts": {
			"snowfence.h", "(ring->machine, __ATOMIC_ACQUIRE) != ring", "(ring->machine, __ATOMIC_ACQUIRE) > ring",
		},
		"the ring compares the handle": {"snowfence.h", " || ring->ids != ids)", " || ids == NULL)"},
		"an ID is taken before the look": {
			"snowfence.h", pop, strings.NewReplacer("at++]", "at]", "*id = taken", "ring->at++, *id = taken").Replace(pop),
		},
		"the beat is read before the IDs are made": {
			"ring.c", "		ring->at = 1;\n", "		ring->at = 1;\n		ring->seen = LOOK(ring->beat);\n",
		},
		"the machine is read before the IDs are made": {
			"ring.c", "		ring->at = 1;\n", "		ring->at = 1;\n		ring->made_on = LOOK(ring->machine);\n",
		},
		"a refill looks at the machine again": {"ring.c", "while (LOOK(ring->machine) != ring->made_on)", "while (0)"},
		"a refill drops what is left":         {"ring.c", "		ring->at = ring->end = 0;\n", ""},
		"every call looks at the page": {
			"shim.c", "return p != NULL && __atomic_load_n(p, __ATOMIC_ACQUIRE) == 0 ? forked() : SNOWFENCE_OK;",
			"(void)p; return SNOWFENCE_OK;",
		},
		"open looks at the page":     {"shim.c", "return __atomic_load_n(page, __ATOMIC_ACQUIRE) == 0 ? forked() : SNOWFENCE_OK;", "return SNOWFENCE_OK;"},
		"the page is wiped":          {"shim.c", "madvise(p, size, MADV_WIPEONFORK);", ""},
		"Go's threads block signals": {"shim.c", "sigfillset(&all);", "sigemptyset(&all);"},
		"and they are free again":    {"shim.c", "	pthread_sigmask(SIG_SETMASK, &old, NULL);\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range []string{"snowfence.h", "part.h", "shim.h", "shim.c", "calls.c", "ring.c"} {
				text, err := os.ReadFile(filepath.Join(sources, file))
				must(t, err)
				if file == c.file {
					if strings.Count(string(text), c.old) != 1 {
						t.Fatalf("%s has %q %d times", file, c.old, strings.Count(string(text), c.old))
					}
					text = []byte(strings.Replace(string(text), c.old, c.new, 1))
				}
				must(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
			}
			path := fake(t, dir)
			tests.Fails(t, tests.ErrOf(exec.CommandContext(t.Context(), path, "forks", "looks").CombinedOutput()),
				"nothing noticed it")
		})
	}
}

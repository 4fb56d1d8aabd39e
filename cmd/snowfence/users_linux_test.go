package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/namespaces"
)

// user is a user of this machine who runs programs.
type user struct {
	name   string
	uid    uint32
	groups []uint32
	umask  string
}

// Users of a machine with a store in a folder that the group 65533 shares.
var (
	theRoot  = user{"root", 0, nil, "022"}
	alice    = user{"alice", 65101, []uint32{65533}, "077"}
	bob      = user{"bob", 65102, []uint32{65533}, "000"}
	stranger = user{"stranger", 65103, nil, "022"}
)

// machine is a folder with what the machine's users share, and their homes.
type machine struct {
	*testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test runs programs as other users: run it as root")
	}
	dir := must(os.MkdirTemp("", "snowfence-users"))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &machine{t, dir}
	m.folder("", 0, 0, 0o755)
	m.asRoot(recipe(t, filepath.Join(dir, "lib"))[1])
	for _, u := range []user{theRoot, alice, bob, stranger} {
		m.folder(u.name, int(u.uid), int(u.uid), 0o700)
	}
	return m
}

// recipe returns the commands by which root makes the system-wide store, as
// people are told, for another folder and group.
func recipe(t *testing.T, folder string) []string {
	t.Helper()
	page := pages(t)["../../docs/operate/operations.md"]
	_, text, _ := strings.Cut(page, "    groupadd --system snowfence\n")
	text, _, _ = strings.Cut("groupadd --system snowfence\n"+text, "\n\n")
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || !strings.Contains(text, "sqlite:"+open.PlacesOf("linux", os.Getenv).System) {
		t.Fatalf("the page has no recipe for a store of all users:\n%s", text)
	}
	help := strings.ReplaceAll(namespaces.StoresTopic().Long, " \\\n     ", "")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
		if !strings.Contains(help, "\n    "+lines[i]+"\n") {
			t.Errorf("the help text has another recipe than %q", lines[i])
		}
		lines[i] = strings.NewReplacer("/var/lib/snowfence", folder, "-g snowfence", "-g 65533").Replace(lines[i])
	}
	return lines
}

// setUp makes the system-wide store as the recipe says.
func (m *machine) setUp() {
	m.Helper()
	m.works(theRoot, strings.Fields(recipe(m.T, filepath.Join(m.dir, "lib"))[2])[1:]...)
}

// asRoot runs a command as it stands in a text.
func (m *machine) asRoot(command string) {
	m.Helper()
	if out, err := exec.Command("/bin/sh", "-c", command).CombinedOutput(); err != nil {
		m.Fatalf("%s: %v: %s", command, err, out)
	}
}

func (m *machine) folder(name string, uid, gid int, mode fs.FileMode) {
	m.Helper()
	path := filepath.Join(m.dir, name)
	noError(m, errors.Join(os.MkdirAll(path, 0o700), os.Chown(path, uid, gid), os.Chmod(path, mode)))
}

func (m *machine) store() string { return filepath.Join(m.dir, "lib", "snowfence.db") }

// own is the file that a user has for himself.
func (m *machine) own(u user) string {
	return filepath.Join(m.dir, u.name, ".local/state/snowfence/snowfence.db")
}

// command is the program, run by a user.
func (m *machine) command(u user, args ...string) *exec.Cmd {
	// Other users may have no access to the folder of this test program, so
	// they run a copy. Under this name it acts as snowfence.
	program := filepath.Join(m.dir, "snowfence")
	if _, err := os.Stat(program); err != nil {
		exe, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(program, exe, 0o755)
		}
		noError(m, err)
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", "umask " + u.umask + `; exec "$0" "$@"`, program}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = []string{"HOME=" + filepath.Join(m.dir, u.name), systemStore + "=" + m.store()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.uid, Groups: u.groups}}
	return cmd
}

// run runs the program to its end. It returns what it printed.
func (m *machine) run(u user, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := m.command(u, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// works runs what has to succeed.
func (m *machine) works(u user, args ...string) string {
	m.Helper()
	stdout, stderr, err := m.run(u, args...)
	if err != nil {
		m.Fatalf("%s, %q: %v\n%s", u.name, args, err, stderr)
	}
	return stdout
}

// fails runs what has to fail with some texts.
func (m *machine) fails(u user, args []string, want ...string) {
	m.Helper()
	stdout, stderr, err := m.run(u, args...)
	if err == nil || stdout != "" {
		m.Fatalf("%s, %q: %v, and printed %.200s", u.name, args, err, stdout)
	}
	for _, text := range want {
		if !strings.Contains(stderr, text) {
			m.Errorf("%s, %q: %q is missing in:\n%s", u.name, args, text, stderr)
		}
	}
	wantErr(m, errOf(os.Stat(m.own(u))), fs.ErrNotExist, "%s got a store of his own, which is another scope", u.name)
}

// together makes IDs by several users at the same time and counts those
// that are there twice.
func (m *machine) together(n int, users ...user) (twice int) {
	m.Helper()
	outs := make([]bytes.Buffer, len(users))
	errs := make([]bytes.Buffer, len(users))
	cmds := make([]*exec.Cmd, len(users))
	for i, u := range users {
		cmds[i] = m.command(u, "new", "-n", fmt.Sprint(n), "--wait", "60s")
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &errs[i]
		noError(m, cmds[i].Start())
	}
	seen := map[string]bool{}
	for i, u := range users {
		if err := cmds[i].Wait(); err != nil {
			m.Fatalf("%s: %v\n%s", u.name, err, errs[i].String())
		}
		for id := range strings.Lines(outs[i].String()) {
			if seen[id] {
				twice++
			}
			seen[id] = true
		}
	}
	return twice
}

// TestUsersShareTheSystemStore had no store to share: root and another user
// made 159,744 equal IDs from a file each. The first program makes the
// files beside the database, with any umask, and the others can use them.
func TestUsersShareTheSystemStore(t *testing.T) {
	m := newMachine(t)
	m.setUp()
	for _, first := range [][]user{{alice, bob, theRoot}, {bob, theRoot, alice}, {theRoot, alice, bob}} {
		m.works(first[0], "new")
		if twice := m.together(50_000, first...); twice > 0 {
			t.Errorf("%d IDs were made twice by users of one store", twice)
		}
	}
	for _, u := range []user{theRoot, alice, bob} {
		wantErr(t, errOf(os.Stat(m.own(u))), fs.ErrNotExist, "%s got a store of his own", u.name)
	}
}

// A service makes the file when it starts first, as a member of the group.
func TestServiceMakesTheSystemStore(t *testing.T) {
	m := newMachine(t)
	m.folder("state", 0, 0, 0o755)
	m.folder("state/snowfence", 0, 65533, 0o771|fs.ModeSetgid)
	own := filepath.Join(m.dir, "state/snowfence/snowfence.db")
	cmd := m.command(alice, "new")
	cmd.Env = []string{"XDG_STATE_HOME=" + filepath.Join(m.dir, "state"), systemStore + "=" + own}
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text),
		"made the store of this machine, sqlite:"+own+", for all users") {
		t.Fatalf("%v: %s", err, text)
	}
	if info, err := os.Stat(own); err != nil || info.Mode() != 0o660 {
		t.Errorf("%v: %v", info, err)
	}
}

// A user who may not use the system-wide store is told how he may, and
// makes no IDs of another scope.
func TestUserWithoutTheSystemStore(t *testing.T) {
	m := newMachine(t)
	m.setUp()
	join := "the users of group 65533 share this store: join it (usermod -aG 65533 USER, as root), and log in again"
	for _, args := range [][]string{{"new"}, {"lease", "list"}, {"namespace", "create", "other"}, {
		"serve", "--http",
		"127.0.0.1:0", "--resp", "127.0.0.1:0",
	}} {
		m.fails(stranger, args, "snowfence: store sqlite:"+m.store()+": ", join,
			"another store, with --store, is another scope")
	}
	m.folder("lib", 0, 65533, 0o700)
	m.fails(alice, []string{"new"}, "checking for a store of all users on this machine",
		"is not shared by a group: snowfence help stores")
	m.asRoot(recipe(t, filepath.Join(m.dir, "lib"))[1]) // which the help has too
	m.works(alice, "new")
	m.works(user{"stranger", 65103, []uint32{65533}, "022"}, "new") // a member
	for _, files := range [][]string{{""}, {"-witness"}, {"", "-witness"}} {
		var paths []string
		for _, suffix := range files {
			path := m.store() + suffix
			paths = append(paths, path)
			noError(t, errors.Join(os.Chown(path, 0, 0), os.Chmod(path, 0o600)))
		}
		all := strings.Join(paths, " ")
		advice := "chgrp 65533 " + all + " && chmod 660 " + all
		m.fails(bob, []string{"new"}, "and not these files: as root, "+advice)
		m.asRoot(advice)
		m.works(bob, "new")
	}
}

// The user who runs the server reads a file of tokens after root did what
// the error says.
func TestUserWithoutTheTokens(t *testing.T) {
	m := newMachine(t)
	m.setUp()
	path := filepath.Join(m.dir, "tokens.yaml")
	m.works(theRoot, "token", "new", "all", "--append", path)
	noError(t, os.Chmod(path, 0o600))
	check := []string{"serve", "--check-config", "--tokens", path}
	advice := "chgrp GROUP " + path + " && chmod 640 " + path
	m.fails(alice, check, fmt.Sprintf("the user who runs the server, %d, has to be able to read it: as root, %s, "+
		"with a group of that user", alice.uid, advice))
	m.asRoot(strings.ReplaceAll(advice, "GROUP", fmt.Sprint(alice.uid)))
	m.works(alice, check...)
	m.works(theRoot, "token", "new", "more", "--append", path)
	m.works(alice, check...) // the group stayed
}

// A user who may read the file sees what is in it, whether or not another
// program has it open, and leases nothing.
func TestReaderOfTheSystemStore(t *testing.T) {
	m := newMachine(t)
	m.setUp()
	m.works(alice, "new", "--node", "7")
	noError(t, os.Chmod(m.store(), 0o664))
	looks := func(when string) {
		t.Helper()
		if text := m.works(stranger, "lease", "list", "--all"); !strings.Contains(text, "\n7 ") {
			t.Errorf("%s: node 7 is not listed:\n%s", when, text)
		}
		if text := m.works(stranger, "namespace", "show", "default"); !strings.Contains(text, "active") {
			t.Errorf("%s: %s", when, text)
		}
		m.fails(stranger, []string{"new"}, "snowfence: acquiring node ",
			"the users of group 65533 share this store: join it")
		m.fails(stranger, []string{"namespace", "create", "other"},
			"the users of group 65533 share this store: join it")
	}
	looks("while no program uses it")
	cmd := m.command(bob, "new", "-n", "1000000000")
	out := must(cmd.StdoutPipe())
	noError(t, cmd.Start())
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has its lease
		t.Fatal(err)
	}
	looks("while a program leases")
	noError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	looks("after a program was killed")
}

// Who used a store of his own before hears that it is another scope.
func TestOwnStoreBesideTheSystemStore(t *testing.T) {
	m := newMachine(t)
	m.works(bob, "new")
	m.setUp()
	_, stderr, err := m.run(bob, "new")
	if want := "the file " + m.own(bob) + ", which this user's programs used before, is another scope"; err != nil ||
		!strings.Contains(stderr, want) {
		t.Errorf("%v: %q is missing in:\n%s", err, want, stderr)
	}
}
